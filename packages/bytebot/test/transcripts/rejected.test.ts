import assert from "node:assert/strict";
import { basename } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { duplexPair, type Duplex } from "node:stream";
import { suite, test } from "node:test";
import { offer } from "../../src/hub/index.ts";
import { LineLink } from "../../src/transport/lines.ts";
import { kinds, maySend, type Event, type Kind } from "../../src/wire/index.ts";
import { World } from "../hub/world.ts";
import { read } from "../spec/spec.ts";

/** What `transcripts/rejected` says of its lines, said in spec/README.md too. */
const SCOPE = "u_7f3a";

for (const { file, source } of read("spec/transcripts/rejected/*.jsonl")) {
  const code = basename(file, ".jsonl");
  suite(`each alone on a connection is refused as ${code}, and the connection goes on (ERR-2, FRM-4)`, () => {
    for (const line of source.split("\n").filter((line) => line !== "")) {
      test(line.slice(0, 100), async () => {
        const type = typeOf(line);
        const first = code === "not_synced" || (type === "bb_sync" && code !== "conflict");
        const world = new World();
        const { say, hear, far } = await connected(world);
        if (!first) {
          say(JSON.stringify({ event_type: "bb_sync", kind: code === "forbidden" ? "ui" : kindFor(type) }));
          await hear(({ event_type }) => event_type === "bb_sync_ack");
        }
        say(line);
        const refusal = await hear(({ event_type, success }) => event_type === "bb_error" || success === false);
        assert.equal(codeOf(refusal), code, JSON.stringify(refusal));
        if (!first) {
          say(`{"event_type":"bb_ping","id":"p_1"}`);
          await hear(({ event_type, in_reply_to }) => event_type === "bb_pong" && in_reply_to === "p_1");
        } else if (type === "bb_sync" && code !== "too_large") {
          await hear(({ event_type }) => event_type === "bb_bye");
        }
        far.destroy();
        await world.end();
      });
    }
  });
}

/** A satellite by hand over a stream of bytes: it says these very lines. */
async function connected(world: World): Promise<{ far: Duplex; say: (line: string) => void; hear: Hear }> {
  const [near, far] = duplexPair();
  const end = async (): Promise<void> => void near.destroy();
  await world.hub.connect(
    offer({ componentId: "other", name: "other", scopes: [SCOPE], controller: false }),
    async (receiver) => new LineLink({ name: "other", readable: near, writable: near, end }, receiver),
    new AbortController().signal,
  );
  const lines = createInterface({ input: far });
  return { far, say: (line) => void far.write(`${line}\n`), hear: hears(lines) };
}

type Hear = (wanted: (event: Event) => boolean) => Promise<Event>;

/** The next event that is wanted; fails where the stream ends before it. */
function hears(lines: Interface): Hear {
  const iterator = lines[Symbol.asyncIterator]();
  return async (wanted) => {
    for (;;) {
      const { value, done } = (await iterator.next()) as IteratorResult<string>;
      assert.ok(done !== true, "the connection ended");
      const event = JSON.parse(value) as Event;
      if (wanted(event)) return event;
    }
  };
}

/** The first kind that may send it; a ui, where none may. */
function kindFor(type: string): Kind {
  return kinds.find((kind) => maySend(kind, false, type) === "allowed") ?? "ui";
}

function typeOf(line: string): string {
  try {
    return String((JSON.parse(line) as Event | null)?.event_type);
  } catch {
    return "";
  }
}

function codeOf(refusal: Event): unknown {
  return refusal["code"] ?? (refusal["error"] as { code?: unknown } | undefined)?.code;
}
