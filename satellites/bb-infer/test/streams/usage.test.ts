import assert from "node:assert/strict";
import { test } from "node:test";
import { chunk } from "../formats/chat.ts";
import {
  chat,
  compatible,
  converse,
  count,
  formats,
  gemini,
  messages,
  say,
  stop,
  whole,
  type Counts,
  type Format,
} from "../formats/index.ts";
import { ask } from "./asking.ts";
import { plays, serving } from "./server.ts";

const last: Counts = { input: 12, output: 7, read: 100, write: 30 };

/** Formats that say what they put into a cache. */
const writes: readonly Format[] = [messages, converse];
/** Formats that may count while they stream. */
const cumulative: readonly Format[] = [compatible, chat, messages, gemini];

/** Formats whose counts stand alone. */
const partial: readonly Format[] = [compatible, chat, gemini];

const tokens = (format: Format, { input, output, read, write }: Counts) => ({
  input_tokens: input,
  output_tokens: output,
  ...(read === undefined ? {} : { cache_read_tokens: read }),
  ...(write === undefined || !writes.includes(format) ? {} : { cache_write_tokens: write }),
});

/** Costs are another matter. */
function counted(usage: Record<string, unknown> | undefined): Record<string, unknown> {
  const { cost_usd: _, ...counts } = usage ?? {};
  return counts;
}

for (const format of formats) {
  test(`${format.name}: what is counted at the end counts, cached tokens once (hard case 13)`, async (t) => {
    const steps = [say("Hi"), count(last), stop("end_turn")];
    const { end } = await ask(format, await serving(t, plays(format, whole(format, ...steps))));
    assert.deepEqual(counted(end?.usage), tokens(format, last));
  });

  test(`${format.name}: what is not said of a cache is unknown, and not zero (hard case 13)`, async (t) => {
    const few = { input: 12, output: 7 };
    const steps = [say("Hi"), count(few), stop("end_turn")];
    const { end } = await ask(format, await serving(t, plays(format, whole(format, ...steps))));
    assert.deepEqual(counted(end?.usage), tokens(format, few));
  });

  if (cumulative.includes(format)) {
    test(`${format.name}: of counts that go up with every chunk the last one counts (hard case 13)`, async (t) => {
      const steps = [1, 2, 3, 4, 5, 6, 7].flatMap((output) => [count({ ...last, output }), say("x")]);
      const { end } = await ask(format, await serving(t, plays(format, whole(format, ...steps, stop("end_turn")))));
      assert.deepEqual(counted(end?.usage), tokens(format, last));
    });
  }

  if (partial.includes(format)) {
    test(`${format.name}: of counts of which one is missing that one is unknown (hard case 13)`, async (t) => {
      for (const [counts, expected] of [
        [{ input: 12 }, { input_tokens: 12 }],
        [{ output: 7 }, { output_tokens: 7 }],
        [
          { input: 12, output: 0, read: 0 },
          { input_tokens: 12, output_tokens: 0, cache_read_tokens: 0 },
        ],
      ] as const) {
        const steps = [say("Hi"), count(counts), stop("end_turn")];
        const { end } = await ask(format, await serving(t, plays(format, whole(format, ...steps))));
        assert.deepEqual(counted(end?.usage), expected);
      }
    });
  }

  // Anthropic's format has no reply without counts.
  if (format !== messages) {
    test(`${format.name}: a reply without counts has none (hard case 13)`, async (t) => {
      const { end } = await ask(format, await serving(t, plays(format, whole(format, say("Hi"), stop("end_turn")))));
      assert.deepEqual(end?.usage ?? {}, {});
    });
  }
}

test("chat completions: counts that cannot be are unknown, and the reply stands (hard case 13)", async (t) => {
  const counts = [
    { prompt_tokens: -5, completion_tokens: 7 },
    { prompt_tokens: 12.5, completion_tokens: 7 },
    { prompt_tokens: 1e300, completion_tokens: 7 },
    { prompt_tokens: 5, completion_tokens: 7, prompt_tokens_details: { cached_tokens: 100 } },
  ];
  for (const usage of counts) {
    const frames = [...compatible.events(say("Hi"), stop("end_turn")), chunk(undefined, { usage }), compatible.end];
    const { reply, end } = await ask(compatible, await serving(t, plays(compatible, frames)));
    assert.deepEqual([reply.said, end?.usage?.input_tokens, end?.usage?.output_tokens], ["Hi", undefined, 7]);
  }
});
