import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { startInproc } from "../../src/sdk/index.ts";
import type { Link, Receiver } from "../../src/transport/index.ts";
import { accept, wide, type Event } from "../../src/wire/index.ts";
import { parseLines } from "../matcher.ts";
import type { Role } from "./script.ts";
import { scripts } from "./scripts/index.ts";

const folder = join(import.meta.dirname, "../../../../spec/transcripts");
const DEADLINE_MS = 10_000;

suite("a satellite can be tested on a transcript alone, as the spec says: the Hub's lines get the satellite's", () => {
  for (const script of scripts) {
    const lines = parseLines(readFileSync(join(folder, `${script.name}.jsonl`), "utf8")) as Event[];
    for (const role of script.cast) test(`${script.name}: ${role.name}`, () => new Player(role).play(lines));
  }
});

/** Plays the Hub to one satellite, by the lines of a transcript. */
class Player {
  private readonly role: Role;
  /** What the satellite has sent and nobody has looked at. */
  private readonly sent: Event[] = [];
  private wake = (): void => undefined;
  private receiver!: Receiver;
  /** Its own ids, and what the transcript calls them. */
  private readonly names = new Map<string, string>();

  constructor(role: Role) {
    this.role = role;
  }

  async play(lines: readonly Event[]): Promise<void> {
    const { name, main } = this.role;
    const mine = lines.filter(({ to, from }) => (to ?? from) === name);
    const [sync] = mine;
    const stop = new AbortController();
    const opts = { cursor: (sync?.["resume"] as string[] | undefined)?.[0] };
    const connect = (receiver: Receiver): Link => this.link(receiver);
    const running = startInproc(main, { name, opts, signal: stop.signal, connect });
    const ended = running.then(() => undefined, String);
    for (const line of mine) {
      if (line["to"] === undefined) this.compare(await this.next(line), line);
      else this.receiver.event(accept(this.inItsWords(line), wide));
    }
    stop.abort();
    await ended;
  }

  private link(receiver: Receiver): Link {
    this.receiver = receiver;
    return {
      name: "the transcript",
      buffered: 0,
      send: (event) => {
        this.sent.push(event);
        this.wake();
      },
      drained: () => Promise.resolve(),
      limit: () => undefined,
      close: async (reason) => receiver.closed(reason),
    };
  }

  /** What it says next; fails where it says nothing. */
  private async next(wanted: Event): Promise<Event> {
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(() => late.reject(new Error(`it did not send ${JSON.stringify(wanted)}`)), DEADLINE_MS);
    const came = new Promise<void>((resolve) => (this.wake = resolve));
    if (this.sent.length === 0) await Promise.race([came, late.promise]);
    clearTimeout(timer);
    return this.sent.shift()!;
  }

  /** The same, but for the ids that it makes up. */
  private compare(sent: Event, line: Event): void {
    const { from: _, ...wanted } = line;
    const [own, called] = [sent["id"], wanted["id"]];
    if (typeof own === "string" && typeof called === "string") this.names.set(own, called);
    assert.deepEqual(renamed(sent, this.names), wanted);
  }

  private inItsWords(line: Event): Event {
    const { to: _, ...event } = line;
    return renamed(event as Event, new Map([...this.names].map(([own, called]) => [called, own])));
  }
}

function renamed(event: Event, names: ReadonlyMap<string, string>): Event {
  return JSON.parse(JSON.stringify(event), (_key, value: unknown) => names.get(value as string) ?? value) as Event;
}
