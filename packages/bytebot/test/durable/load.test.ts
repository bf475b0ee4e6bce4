import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { Person, Script, Tools } from "./crew.ts";
import { Site } from "./site.ts";

const timeout = 300_000;
const [SCOPES, INPUTS, KILLS] = [20, 200, 4];

test(
  "a Hub that is killed again and again while twenty scopes are at work loses no input that it acknowledged, and answers each once (DUR-1, REC-3, RPL-6)",
  { timeout },
  async (t) => {
    const site = new Site(t, { limits: { attempts: KILLS + 3 } });
    const [person, script, tools] = [new Person(), new Script(), new Tools()];
    script.ready = () => tools.until(() => tools.registered === site.lives, "the tools");
    await site.up();
    site.dial("infer", script.main);
    site.dial("tools", tools.main);
    await script.until(() => script.synced === 1, "the infer");
    site.dial("ui", person.main);
    const ids = Array.from({ length: INPUTS }, (_, n) => ({ id: `m_${n}`, scope: `u_${n % SCOPES}` }));
    const all = (async () => {
      // Ten at once, as from so many people.
      const waiting = [...ids];
      const some = async (): Promise<void> => {
        for (let next = waiting.shift(); next; next = waiting.shift()) {
          const text = `${Number(next.id.slice(2)) % 4 === 0 ? "use the tools" : "hello"} ${next.id}.`;
          await person.say(next.scope, text, next.id);
        }
      };
      await Promise.all(Array.from({ length: 10 }, some));
    })();
    for (let kill = 1; kill <= KILLS; kill++) {
      await person.until(() => person.acknowledged.size >= (kill * INPUTS) / (KILLS + 1), "so many");
      await pause(randomInt(0, 30));
      await site.hub.kill();
      await site.up();
    }
    await all;
    const ended = () => person.durable.filter(({ kind }) => kind === "loop_done").length;
    await person.until(() => ended() >= INPUTS, "the end of each");
    const late = new Person();
    site.dial("late", late.main);
    await late.until(() => late.seen.some(({ event_type }) => event_type === "bb_live"));
    await site.down();

    const logged = await site.check();
    assert.deepEqual(person.durable, late.durable);
    const inputs = logged.filter(({ event_type }) => event_type === "user_event").map(({ id }) => String(id));
    assert.deepEqual([...inputs].sort(), ids.map(({ id }) => id).sort(), "each once");
    const ends = logged.filter(({ kind }) => kind === "loop_done");
    assert.deepEqual([ends.length, ...new Set(ends.map(({ stop_reason }) => stop_reason))], [INPUTS, "end_turn"]);
    for (const { id, scope } of ids) {
      assert.equal(script.count(scope, ` ${id}.`), 1, `${id}: the model was told once`);
    }
    const writes = tools.ran.filter(({ name }) => name === "write").map(({ callId }) => callId);
    assert.equal(new Set(writes).size, writes.length, "what may not run twice did not");
  },
);
