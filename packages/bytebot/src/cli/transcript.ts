import { join } from "node:path";
import { ByteBot } from "../app/bytebot.ts";
import type { ByManifest } from "../app/component.ts";
import { printable } from "../wire/index.ts";
import { live } from "./live.ts";
import { isUnread, printLine, report } from "./output.ts";

export interface Turn {
  text: string;
  scope: string;
  tool: string;
}

/** One turn through four processes; prints the whole wire of the Hub. Resolves with whether the turn went well, as far as it was read. */
export async function transcript({ text, scope, tool }: Turn): Promise<boolean> {
  const hub = new ByteBot({
    context: child("context"),
    ui: child("ui", { text, scope }),
    base: import.meta.dirname,
    report,
  });
  hub.attachInfer(child("infer"), { primary: true });
  hub.attach(child("toolsource", { tool }));
  const wire = print(hub);
  const end = await live(hub);
  const { answered } = await wire;
  return end === "done" && (answered || isUnread());
}

function child(kind: ByManifest["kind"], opts: Record<string, unknown> = {}): ByManifest {
  return {
    kind,
    entry: { type: "stdio", command: ["node", join(import.meta.dirname, "demo", "child.js"), kind] },
    opts,
  };
}

/** Until the app stops. */
async function print(hub: ByteBot): Promise<{ answered: boolean }> {
  let answered = false;
  for await (const event of hub.events()) {
    printLine(printable(JSON.stringify(event)));
    if (event.event_type === "infer_chunk" && event["kind"] === "loop_done")
      answered = event["stop_reason"] === "end_turn";
  }
  return { answered };
}
