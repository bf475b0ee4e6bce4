import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { Event } from "../../src/wire/index.ts";
import { Person, Script, Tools } from "./crew.ts";
import type { Moment } from "./hub.ts";
import { Site } from "./site.ts";

const timeout = 120_000;

interface Cast {
  site: Site;
  person: Person;
  script: Script;
  tools: Tools;
}

async function open(t: TestContext): Promise<Cast> {
  const [site, person, script, tools] = [new Site(t), new Person(), new Script(), new Tools()];
  script.ready = () => tools.until(() => tools.registered === site.lives, "the tools");
  await site.up();
  site.dial("tools", tools.main);
  site.dial("infer", script.main);
  site.dial("ui", person.main);
  await script.until(() => script.synced === 1, "the infer");
  return { site, person, script, tools };
}

/** The model stops in the middle of its answers, until `goOn` is called. */
function held(script: Script): { goOn: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  script.pause = () => promise;
  return { goOn: resolve };
}

const reasons = (events: readonly Event[]): unknown[] => events.map(({ stop_reason }) => stop_reason);

const interrupts = {
  heard:
    "an interrupt that was acknowledged when the Hub is killed ends the turn as interrupted, once (REC-4, INT-1, hard case 17)",
  unheard:
    "an interrupt that was logged when the Hub is killed, though nobody heard of it, ends the turn as interrupted, once (REC-4, INT-1, hard case 17)",
};
for (const [moment, name] of Object.entries(interrupts)) {
  test(name, { timeout }, async (t) => {
    const { site, person, script } = await open(t);
    const { goOn } = held(script);
    await person.say("u", "hello", "m_1");
    await person.until(() => person.text("u") === "all ", "the first word");
    await site.hub.dies(moment as Moment, 1);
    const interrupted = person.satellite!.interrupt("u", "enough").catch((error: unknown) => error);
    await site.hub.ended;
    goOn();
    await site.up();
    await interrupted;
    await person.sawEnds("u");
    await person.say("u", "again", "m_2");
    await person.sawEnds("u", 2);
    await site.down();
    const logged = await site.check();
    assert.deepEqual(reasons(person.ends("u")), ["interrupted", "end_turn"]);
    assert.equal(logged.filter(({ event_type }) => event_type === "interrupt").length, 1);
    assert.deepEqual([script.count("u", "hello"), script.count("u", "again")], [1, 1]);
  });
}

test(
  "inputs that were accepted and not started when the Hub is killed are each answered once, in their order (DUR-1, REC-1, hard case 21)",
  { timeout },
  async (t) => {
    const { site, person, script } = await open(t);
    const { goOn } = held(script);
    await person.say("u", "one.", "m_1");
    await person.until(() => person.text("u") === "all ", "the first word");
    for (const [id, text] of Object.entries({ m_2: "two.", m_3: "three." })) await person.say("u", text, id);
    await site.hub.kill();
    goOn();
    await site.up();
    await person.sawEnds("u", 3);
    await site.down();
    const logged = await site.check();
    const ids = logged.filter(({ event_type }) => event_type === "user_event").map(({ id }) => id);
    assert.deepEqual(ids, ["m_1", "m_2", "m_3"]);
    const said = script.shown.get("u")!.flatMap(({ role, content }) => (role === "user" ? content : []));
    assert.deepEqual(
      said.map((block) => "text" in block && block.text),
      ["one.", "two.", "three."],
    );
    assert.equal(person.text("u"), "all done\nall done\nall done");
  },
);

test(
  "a UI that left in mid-turn, and returns after the Hub was killed and is there again, sees the whole turn (RPL-6, hard case 23)",
  { timeout },
  async (t) => {
    const { site, person, script, tools } = await open(t);
    const { goOn } = held(script);
    await person.say("u", "use the tools.", "m_1");
    await person.until(() => person.text("u") === "let ", "the first word");
    site.leaves("ui");
    await person.satellite!.close("the person goes home");
    await site.hub.kill();
    goOn();
    await site.up();
    await tools.until(() => tools.of("u", "write").length === 1, "the call");
    site.dial("ui", person.main);
    await person.sawEnds("u");
    assert.match(person.text("u"), /^let me see\|.*\nall done$/);
    assert.deepEqual(
      (await site.look("start")).filter(({ seq }) => seq !== undefined),
      person.durable,
    );
    await site.down();
    await site.check();
  },
);

test(
  "a cursor is good over a restart, whichever event it is of; garbage, another log's and the future's are refused (RPL-3, RPL-6, hard cases 26 and 27)",
  { timeout },
  async (t) => {
    const { site, person } = await open(t);
    await person.say("u", "use the tools.", "m_1");
    await person.sawEnds("u");
    const seen = [...person.durable];
    await site.hub.kill();
    await site.up();
    for (const [index, { cursor }] of seen.entries()) {
      const missed = (await site.look(String(cursor))).filter(({ seq }) => seq !== undefined);
      assert.deepEqual(missed, seen.slice(index + 1), `after event ${index}`);
    }
    const log = String(seen[0]!["cursor"]).split(":")[0];
    for (const cursor of ["garbage", "", "m1f:3.0", `${log}:100000.0`, `${log}:-1`, `${log}:1.999.1`, `${log}:`])
      await assert.rejects(site.look([cursor]), { code: "cursor_expired" }, cursor);
    assert.deepEqual(
      (await site.look(["m1f:3.0", String(seen.at(-1)!["cursor"])])).filter(({ seq }) => seq !== undefined),
      [],
    );
    await site.down();
    await site.check();
  },
);

test(
  "half a surrogate pair from a tool, and a result that is cut at an emoji, are well-formed text after a restart, and whole beside it (FRM-8, TOL-10, hard case 7)",
  { timeout },
  async (t) => {
    const { site, person, script, tools } = await open(t);
    const long = `x${"🕷️👩‍👩‍👧".repeat(20_000)}`;
    tools.result = (name) => (name === "look" ? "half \ud83d here" : long);
    await person.say("u", "use the tools.", "m_1");
    await person.sawEnds("u");
    await site.hub.kill();
    await site.up();
    await person.say("u", "and what did they say?", "m_2");
    await person.sawEnds("u", 2);
    const events = await site.look("start");
    const shown = [events, script.shown.get("u")].map((each) => JSON.stringify(each));
    for (const text of shown) {
      assert.ok(text.isWellFormed() && !/\\ud[89a-f]/i.test(text));
      assert.match(text, /half \ufffd here/);
    }
    const [ref] = /sha256-[0-9a-f]{64}/.exec(shown[0]!)!;
    const { bytes } = await person.satellite!.getBlob("u", ref);
    assert.equal(Buffer.from(bytes).toString(), long);
    await site.down();
    await site.check();
  },
);
