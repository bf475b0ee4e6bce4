import { schemaCheck } from "../hub/tools/schema.ts";
import { encode, kinds, type Event } from "../wire/index.ts";
import { Inapplicable, Unmet, type Check } from "./check.ts";
import { linesOf } from "./requests.ts";
import type { Peer } from "./peer.ts";
import type { Stage } from "./stage.ts";
import { shown } from "./trace.ts";
import { copies, question, turnAsSeen } from "./turn.ts";
import { NO_SUCH_TOOL, offered, permitted } from "./work.ts";

/** What a person can see, so that a model can say it again. */
const VISIBLE = ["é", "ß→日本語", "\u{1F600}", "\u{1F469}\u200D\u{1F469}\u200D\u{1F467}", "\u{1D11E}", "مرحبا"];
/** What only a program keeps: combining characters, separators, NUL, a byte order mark, the ends of planes, escapes. */
const HIDDEN = [
  "e\u0301",
  "\u2028",
  "\u2029",
  "\0",
  "\u0085",
  "\uFEFF",
  "\u00A0",
  "\uD7FF\uE000",
  "\u{10FFFF}",
  '\\u00e9"\\',
];
/** Longer than any buffer is, and at no even place in it. */
const LONG = `x${"\u{1F600}".repeat(40_000)}`;

/** Each part between marks of ASCII, so that it is found again, and what became of it. */
function marked(parts: readonly string[]): string {
  return parts.map((part, n) => `w${n}(${part})w${n}`).join(" ");
}

const seen = marked(VISIBLE);
const every = marked([...VISIBLE, ...HIDDEN]);
const whole = marked([...VISIBLE, ...HIDDEN, LONG]);

const BYTES = "decode whole lines as UTF-8, never pieces, and write UTF-8 whatever the locale";

export const textChecks: Check[] = [
  {
    rule: "FRM-1",
    title: "It is shown text of every script, emoji, combining characters, U+2028 and NUL, and goes on",
    kinds,
    needs: "handshake",
    fix: BYTES,
    run: async (stage) => {
      const peer = await stage.attach();
      await show(stage, peer, (...events) => peer.send(...events));
    },
  },
  {
    rule: "FRM-1",
    title: "The same text as \\u escapes, surrogate pairs among them, is taken too",
    bytes: true,
    kinds,
    needs: "handshake",
    fix: "leave JSON to a JSON library: two escapes of a pair are one character",
    run: async (stage) => {
      const peer = await stage.attach();
      await show(stage, peer, (...events) => peer.write(events.map(inAscii).join("")));
    },
  },
  {
    rule: "FRM-1",
    title: "Text comes back as it went: no character is changed, lost or doubled, also where a buffer ends in it",
    kinds: ["context", "infer", "toolsource"],
    needs: "handshake",
    fix: BYTES,
    run: async (stage) => {
      const peer = await stage.attach();
      const answers = await said(stage, peer);
      let found = 0;
      for (const { parts, text, events } of answers) {
        for (const [n, part] of parts.entries()) {
          for (const [, got = ""] of text.matchAll(new RegExp(`w${n}\\(([^]*?)\\)w${n}`, "g"))) {
            // Whoever quotes it for people may write it as escapes.
            if (stage.kind === "toolsource" && got.includes("\\")) continue;
            found++;
            if (got !== part) throw new Unmet(inWords(part), inWords(got, part), linesOf(events));
          }
        }
      }
      if (found === 0) throw new Inapplicable("it says nothing of that again");
    },
  },
  {
    rule: "QUE-4",
    title: "Options that are not ASCII are accepted as they were given",
    kinds: ["ui"],
    needs: "handshake",
    fix: BYTES,
    run: async (stage) => {
      const peer = await stage.attach();
      const options = [`ja ${every}`, `nein ${seen}`];
      const asked = { ...question(stage.scope(peer)), prompt: `Möchtest du? ${every}`, options };
      peer.send(asked);
      await stage.alive(peer);
      const reply = peer.events("input_reply").find((event) => event["in_reply_to"] === asked.id);
      if (reply?.["outcome"] !== "accepted") throw new Inapplicable("it accepts nothing by itself");
      const value = String(reply["value"]);
      if (!options.includes(value)) throw new Unmet("one of the options", inWords(value), linesOf([reply]));
    },
  },
];

/** All that its kind may be shown, with the text wherever a person or a model may put it. */
async function show(stage: Stage, peer: Peer, send: (...events: Event[]) => unknown): Promise<void> {
  const scope = stage.scope(peer);
  switch (stage.kind) {
    case "ui":
      await send(...turnAsSeen(scope, every), { ...question(scope), prompt: every, options: ["yes", every] });
      break;
    case "telemetry":
      await send(...copies(scope, every));
      break;
    case "toolsource": {
      const work = await stage.work(peer, { call: { name: `${NO_SUCH_TOOL} ${seen}`, input: { text: every } } });
      await send(work.event);
      await stage.answer(peer, work);
      break;
    }
    default: {
      const work = await stage.work(peer, {
        text: every,
        tools: offered.map((tool) => ({ ...tool, description: every })),
      });
      await send(work.event);
      await stage.answer(peer, work);
    }
  }
  await stage.alive(peer);
}

interface Said {
  /** What was between the marks. */
  parts: readonly string[];
  text: string;
  events: Event[];
}

/** What it says of the text it is asked to say again. */
async function said(stage: Stage, peer: Peer): Promise<Said[]> {
  if (stage.kind === "infer") {
    const work = await stage.work(peer, { text: `Repeat this line, character by character: ${seen}` });
    return [{ parts: VISIBLE, ...(await answerTo(stage, peer, work)) }];
  }
  if (stage.kind === "context") {
    const work = await stage.work(peer, { text: whole });
    return [{ parts: [...VISIBLE, ...HIDDEN, LONG], ...(await answerTo(stage, peer, work)) }];
  }
  const unknown = await stage.work(peer, { call: { name: `${NO_SUCH_TOOL} ${seen}`, input: {} } });
  const all = [{ parts: VISIBLE, ...(await answerTo(stage, peer, unknown)) }];
  const call = await speaking(stage, peer);
  if (call) {
    const work = await stage.work(peer, { call });
    all.push({ parts: [...VISIBLE, ...HIDDEN], ...(await answerTo(stage, peer, work)) });
  }
  return all;
}

async function answerTo(
  stage: Stage,
  peer: Peer,
  work: Awaited<ReturnType<Stage["work"]>>,
): Promise<Omit<Said, "parts">> {
  if (stage.kind === "context" && peer.hasBytes) {
    peer.asked.set(work.key, work.event);
    await peer.write(...cut(encode(work.event)));
  } else peer.send(work.event);
  const result = await stage.answer(peer, work);
  const mine = peer.events().filter((event) => event === result || event["in_reply_to"] === work.key);
  // Pieces of a text are put together; whatever else it says is looked at text by text.
  const deltas = mine.map(({ delta }) => (typeof delta === "string" ? delta : "")).join("");
  return { text: [deltas, ...mine.flatMap((event) => textsIn(event))].join("\n"), events: [result] };
}

/** A call that may be made, with the text where its tool takes any. */
async function speaking(stage: Stage, peer: Peer): Promise<{ name: string; input: unknown } | undefined> {
  const tools = await stage.tools(peer);
  const { call: named } = stage.subject;
  const call = permitted({ tools, call: named, ms: 0 });
  const schema = tools.find(({ name }) => name === call?.name)?.input_schema;
  // What a person named is called as it was named.
  if (!call || named || schema === undefined) return undefined;
  const texts = Object.entries(call.input as object).map(([key, value]) => [
    key,
    typeof value === "string" ? every : (value as unknown),
  ]);
  const input = Object.fromEntries(texts) as unknown;
  return schemaCheck(schema, call.name)(input) === undefined ? { name: call.name, input } : undefined;
}

/** Every text in an event, the pieces of a stream left out. */
function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => (key === "delta" ? [] : textsIn(inner)));
}

/** Within the first emoji of the long text, and again further on. */
function cut(line: string): Uint8Array[] {
  const bytes = Buffer.from(line);
  const at = bytes.indexOf(Buffer.from(LONG.slice(0, 5)));
  if (at === -1) return [bytes];
  const ends = [at + 3, at + 4096 + 2, at + 70_001, bytes.length];
  return ends.map((end, n) => bytes.subarray(ends[n - 1] ?? 0, end));
}

/** An event as JSON in ASCII alone. */
function inAscii(event: Event): string {
  const escaped = JSON.stringify(event).replaceAll(/[\u007F-\uFFFF]/g, escape);
  return `${escaped}\n`;
}

function escape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** For people: of a long one the place where it differs; what cannot be seen as its code. */
function inWords(text: string, other = text): string {
  let at = 0;
  while (at < text.length && text[at] === other[at]) at++;
  const from = Math.max(0, text === other ? 0 : at - 4);
  const part = text.slice(from, from + 40);
  const codes = Array.from(
    part.slice(0, 8),
    (character) => `U+${character.codePointAt(0)!.toString(16).toUpperCase()}`,
  );
  return `${from > 0 ? `at ${from}: ` : ""}${shown(JSON.stringify(part))} (${codes.join(" ")})`;
}
