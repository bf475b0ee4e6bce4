import fc from "fast-check";
import type { Event } from "../../src/wire/index.ts";

/** Text as people and models write it: any character of Unicode, the separators that readers stumble over more often. */
export const text = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: fc.constantFrom("\u2028", "\u2029", "\r", "\n", "😀", "€", "\ufeff", "\0", '"', "\\", "a") }),
);

const number = fc
  .oneof(fc.maxSafeInteger(), fc.double({ noNaN: true, noDefaultInfinity: true }))
  .filter((n) => !Object.is(n, -0) && (!Number.isInteger(n) || Number.isSafeInteger(n)));
const key = fc
  .oneof(fc.constantFrom("text", "input", "toString", "valueOf", "", "0"), text)
  .filter((name) => !["__proto__", "constructor", "prototype"].includes(name) && !name.includes("\\"));

const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.oneof(text, number, fc.boolean(), fc.constant(null)),
    fc.array(tie("value"), { maxLength: 5 }),
    fc.dictionary(key, tie("value"), { maxKeys: 5, noNullPrototype: true }),
  ),
}));

/** Any event the wire carries unchanged. */
export const anyEvent: fc.Arbitrary<Event> = fc
  .tuple(fc.stringMatching(/^[a-z_]{1,20}$/), fc.dictionary(key, value, { maxKeys: 6, noNullPrototype: true }))
  // Names are stricter than text; they have tests of their own.
  .filter(([, fields]) =>
    Object.keys(fields).every(
      (name) => !["id", "in_reply_to", "scope", "call_id", "loop_id", "from", "cursor", "ref"].includes(name),
    ),
  )
  .map(([event_type, fields]) => ({ ...fields, event_type }));
