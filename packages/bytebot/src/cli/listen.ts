import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ByteBot } from "../app/bytebot.ts";
import { ownFolder, tokenOfEnv } from "../app/places.ts";
import type { Listen } from "../resolve/index.ts";
import { BytebotError } from "../wire/index.ts";
import { UsageError } from "./errors.ts";
import { socketFolder } from "./socket.ts";

/** `8080`, `0.0.0.0:8080` or `[::1]:8080`. Throws UsageError. */
export function toListen(command: "run" | "check", text: string): Listen {
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]:|([^:]+):)?(\d{1,5})$/.exec(text) ?? [];
  if (port === undefined || Number(port) > 65_535) {
    throw new UsageError(command, `--listen ${JSON.stringify(text)} is no [host:]port, as in 8080 or 0.0.0.0:8080`);
  }
  return { host: bracketed ?? plain ?? "127.0.0.1", port: Number(port), tokens: [] };
}

/** What to tell of where an app serves; `file`: where its token is, to be removed when it has ended. */
export interface Listening {
  told: string[];
  file?: string;
}

/**
 * Serves the app over HTTP, to whom: by a token each from its environment variable, else one for all, of BYTEBOT_TOKEN or fresh.
 * Rejects with what is wrong with one of them, and with `forbidden` where others could read the file that is to tell it.
 */
export async function listen(hub: ByteBot, { tokens, ...where }: Listen): Promise<Listening> {
  const missing = tokens.find(({ env }) => !process.env[env]);
  if (missing) {
    throw new BytebotError(
      "invalid_params",
      `"listen": the token of "${missing.name}" is in no environment variable ${missing.env}: set it to a long random text`,
    );
  }
  for (const { env, ...grant } of tokens) hub.addToken(grant, tokenOfEnv(env));
  if (tokens.length > 0) return { told: [`listening on ${await hub.serveHttp(where)}`] };
  const given = tokenOfEnv("BYTEBOT_TOKEN");
  const token = hub.addToken({ name: "" }, given);
  if (given) {
    const url = await hub.serveHttp(where);
    return { told: [`listening on ${url}, for whoever has this app's BYTEBOT_TOKEN`] };
  }
  const folder = socketFolder();
  await ownFolder(folder);
  const url = await hub.serveHttp(where);
  const file = join(folder, `${process.pid}.token`);
  // One of this name is what a killed process of this number left.
  await rm(file, { force: true });
  await writeFile(file, `${token}\n`, { mode: 0o600, flag: "wx" });
  return { told: [`listening on ${url}, for whoever has the token in ${file}`], file };
}
