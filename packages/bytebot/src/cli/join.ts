import { join, type Place } from "../app/join.ts";
import { mainOf } from "../app/reach.ts";
import { tokenOfEnv } from "../app/places.ts";
import { dialMeant, type AppValues } from "./apps.ts";
import { CHAT, chatOpts, type Said } from "./chat-ui.ts";
import { UsageError } from "./errors.ts";
import { quieten } from "./output.ts";
import { Signals } from "./signals.ts";

/** Another screen on the conversation of a running app: at its URL, or over its socket on this machine. */
export async function joinChat(said: Said, values: AppValues & { hub?: string | undefined }): Promise<void> {
  const signals = new Signals();
  try {
    const signal = signals.asked;
    const place = values.hub === undefined ? await dialMeant("chat", values, signal) : toUrl(values.hub);
    const main = await mainOf(CHAT, process.cwd());
    await join(main, place, { opts: chatOpts({ ...said, guest: true }), signal });
  } finally {
    quieten();
    signals.close();
  }
}

function toUrl(hub: string): Place {
  const url = URL.canParse(hub) ? new URL(hub) : undefined;
  if (url?.protocol !== "http:" && url?.protocol !== "https:")
    throw new UsageError("chat", `--hub ${JSON.stringify(hub)} is no URL of an app, as in http://127.0.0.1:8080`);
  const token = tokenOfEnv("BYTEBOT_TOKEN");
  if (!token) {
    const message =
      "--hub needs the app's token in the environment variable BYTEBOT_TOKEN: bytebot run --listen says where it is";
    throw new UsageError("chat", message);
  }
  return { url: url.href, token };
}
