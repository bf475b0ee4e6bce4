import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { ByteBot } from "../../src/index.ts";
import * as bb from "../../src/sdk/index.ts";
import { Person } from "../transcripts/satellites.ts";
import { ask, calls, model, says } from "../cases/cast.ts";

const folder = new URL("../fixtures/python/", import.meta.url).pathname;
const skip = spawnSync("python3", ["--version"]).status === 0 ? false : "there is no python3 on this machine";
const ROUNDS = 20;

test(
  "a UI in Python over stdio and one over HTTP race for each question: one answer counts, both are told whose (QUE-3, QUE-5, hard case 25)",
  { skip },
  async () => {
    const desk: bb.Event[] = [];
    const others: string[] = [];
    const report = (line: string): void => {
      const [, text] = /^desk: (\{.*)$/s.exec(line) ?? [];
      if (text === undefined) others.push(line);
      else desk.push(JSON.parse(text) as bb.Event);
    };
    const policy = [{ tool: "*", decision: "allow" as const }];
    await using hub = new ByteBot({ base: folder, report, policy });
    const entry = { type: "stdio" as const, command: ["python3", "desk.py"] };
    hub.attach({ kind: "ui", name: "desk", entry });
    hub.attachInfer({ kind: "infer", main: model({ ask: [calls(["ask", {}]), says("ok")] }).main });
    const tools: bb.Main = async () => {
      const satellite = await bb.sync({ kind: "toolsource", name: "files" });
      satellite.tool(ask);
      await satellite.start();
    };
    hub.attach({ kind: "toolsource", name: "files", main: tools });
    await hub.start();

    const won: string[] = [];
    const web: bb.Main = async () => {
      const satellite = await bb.sync({ kind: "ui", inputCapable: true });
      const person = new Person(satellite);
      void satellite.start();
      for (let round = 0; round < ROUNDS; round++) {
        await person.say("ask us");
        const question = await person.sees("input_strict");
        const mine = await satellite.answer(question, "accepted", "yes").then(
          () => true,
          (error: unknown) => assert.equal(bb.BytebotError.from(error).code, "not_found"),
        );
        const { by } = await person.sees("input_resolved", { id: question.id });
        assert.equal(by, mine === true ? "web" : "desk");
        const heard = JSON.stringify((await person.sees("tool_result"))["content"]);
        assert.match(heard, mine === true ? /accepted yes/ : /accepted no/, "the tool hears the answer that counted");
        won.push(by!);
        await person.isDone();
      }
      await satellite.close();
    };
    const token = hub.addToken({ name: "web", kind: "ui" });
    await bb.dialHttp(web, { url: await hub.serveHttp(), token });
    await hub.stop();

    const at = (type: string) => desk.filter(({ event_type }) => event_type === type);
    assert.equal(won.length, ROUNDS);
    assert.equal(at("input_strict").length, ROUNDS);
    assert.deepEqual(
      at("input_resolved").map(({ by }) => by),
      won,
      "both are told the same",
    );
    const [taken, late] = [at("bb_ack").length, at("bb_error")];
    assert.deepEqual([taken, taken + late.length], [won.filter((name) => name === "desk").length, ROUNDS]);
    assert.ok(late.every(({ code }) => code === "not_found"));
    assert.deepEqual(others, []);
  },
);
