import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ByteBot } from "../app/bytebot.ts";
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

/** Serves the app over HTTP and says where, and where the token is: each from its environment variable, else one for all. */
export async function listen(hub: ByteBot, { tokens, ...where }: Listen): Promise<string[]> {
  const missing = tokens.find(({ env }) => !process.env[env]);
  if (missing) {
    throw new BytebotError(
      "invalid_params",
      `"listen": the token of "${missing.name}" is in no environment variable ${missing.env}: set it to a long random text`,
    );
  }
  for (const { env, ...grant } of tokens) hub.addToken(grant, process.env[env]);
  const url = await hub.serveHttp(where);
  if (tokens.length > 0) return [`listening on ${url}`];
  const given = process.env["BYTEBOT_TOKEN"];
  const token = hub.addToken({ name: "" }, given === "" ? undefined : given);
  if (given) return [`listening on ${url}, for whoever has this app's BYTEBOT_TOKEN`];
  const file = tokenFile();
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  // One of this name is what a killed process of this number left.
  await rm(file, { force: true });
  await writeFile(file, `${token}\n`, { mode: 0o600, flag: "wx" });
  return [`listening on ${url}, for whoever has the token in ${file}`];
}

/** Where this process says what token it takes, where nobody chose one; whoever called `listen` removes it. */
export function tokenFile(): string {
  return join(socketFolder(), `${process.pid}.token`);
}
