import assert from "node:assert/strict";
import { test } from "node:test";
import { Person, Script, Tools } from "./crew.ts";
import { Site } from "./site.ts";

const timeout = 300_000;

test(
  "a Hub that is killed at any event of a turn with two tools goes on with it: nothing acknowledged is lost, no tool runs twice, no reader misses anything (DUR-1, REC-4, RPL-6, hard case 34)",
  { timeout },
  async (t) => {
    const site = new Site(t);
    const [person, script, tools] = [new Person(), new Script(), new Tools()];
    // A model is offered the tools that are there: a turn that goes on waits for an infer, and so for both.
    script.ready = () => tools.until(() => tools.registered === site.lives, "the tools");
    await site.up();
    site.dial("infer", script.main);
    site.dial("tools", tools.main);
    site.dial("ui", person.main);
    const scopes: string[] = [];
    const kills: Record<string, number> = {};
    for (const moment of ["uncommitted", "unheard", "heard"] as const) {
      for (let at = 1, killed = true; killed; at++) {
        const scope = `u_${moment}-${at}`;
        scopes.push(scope);
        await person.until(() => person.satellite !== undefined);
        const { hub } = site;
        await hub.dies(moment, at);
        const said = person.say(scope, `use the tools ${scope}.`, `m_${scope}`);
        const ended = hub.ended.then(() => true);
        // A Hub that has ended the turn may still be about to die of it: one that answers is not.
        const lives = person.sawEnds(scope).then(() => hub.dies(moment, 0));
        killed = await Promise.race([ended, lives.then(() => false)]);
        if (killed) {
          for (const { event_type, call_id } of await site.events())
            if (event_type === "bb_tool_call_result") tools.settled.add(String(call_id));
          await site.up();
          kills[moment] = at;
        }
        await said;
        await person.sawEnds(scope);
      }
    }
    for (const moment of ["uncommitted", "unheard", "heard"])
      assert.ok(kills[moment]! > 6, `it died at every event: ${JSON.stringify(kills)}`);
    const late = new Person();
    site.dial("late", late.main);
    await late.until(() => late.seen.some(({ event_type }) => event_type === "bb_live"));
    const latest = late.durable;
    await person.until(() => person.durable.length >= latest.length);
    await site.down();

    const logged = await site.check();
    assert.deepEqual(person.durable, latest, "each durable event once and in order, over all restarts");
    for (const scope of scopes) {
      const own = logged.filter((event) => event["scope"] === scope);
      const inputs = own.filter(({ event_type }) => event_type === "user_event");
      assert.deepEqual(
        inputs.map(({ id }) => id),
        [`m_${scope}`],
      );
      assert.equal(script.count(scope, `use the tools ${scope}.`), 1, `${scope}: the model was told once`);
      const ends = own.filter(({ kind }) => kind === "loop_done");
      assert.deepEqual(
        ends.map(({ stop_reason }) => stop_reason),
        ["end_turn"],
        scope,
      );
      assert.ok(tools.of(scope, "write").length <= 1, `${scope}: what may not run twice did not`);
      assert.equal(new Set(tools.of(scope, "look")).size, 1, `${scope}: what may, did so under one call_id`);
      const results = own.filter(({ event_type }) => event_type === "bb_tool_call_result");
      assert.equal(results.length, 2, scope);
      const written = results.find(({ call_id }) => tools.of(scope, "write").includes(String(call_id)));
      assert.ok(
        written || results.some(({ status }) => status === "lost"),
        `${scope}: what did not run is called lost`,
      );
      assert.equal(person.text(scope), late.text(scope), scope);
      assert.match(person.text(scope), /^let me see\|.*\nall done$/);
    }
  },
);
