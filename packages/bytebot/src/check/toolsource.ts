import { schemaCheck } from "../hub/tools/schema.ts";
import { BytebotError, type ToolProgress } from "../wire/index.ts";
import { Inapplicable, Unmet, type Check } from "./check.ts";
import { answersOnce, allAnswered, cancelled, linesOf } from "./requests.ts";
import type { Stage } from "./stage.ts";
import { tourOf } from "./tour.ts";
import { NO_SUCH_TOOL, permitted, type Work } from "./work.ts";

const common = { kinds: ["toolsource"] as const, needs: "answer" as const };

export const toolsourceChecks: Check[] = [
  {
    rule: "CON-11",
    title: "It registers its tools within 30 s of its start",
    kinds: ["toolsource"],
    gate: "answer",
    fix: "send bb_tool_register after bb_sync, or after bb_sync_ack",
    run: async (stage) => stage.tools(await stage.attach()),
  },
  {
    ...common,
    rule: "TOL-1",
    title: "Its tools have names of their own, and schemas that can be used",
    run: async (stage) => {
      const peer = await stage.attach();
      const tools = await stage.tools(peer);
      const seen = new Map<string, string>();
      for (const { name, input_schema } of tools) {
        const forModel = name.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 64);
        const other = seen.get(forModel);
        if (other !== undefined)
          throw new Unmet("names that differ, for a model too", `${JSON.stringify(other)} and ${JSON.stringify(name)}`);
        seen.set(forModel, name);
        try {
          schemaCheck(input_schema, `tool "${name}"`);
        } catch (error) {
          throw new Unmet(
            `an input_schema of ${JSON.stringify(name)} in JSON Schema 2020-12`,
            BytebotError.from(error).message,
          );
        }
      }
    },
  },
  {
    ...common,
    rule: "TOL-5",
    title: "It answers a call with one bb_tool_call_result that has its call_id",
    fix: "copy call_id from the request; on any exception answer with success false and an error",
    run: async (stage) => {
      const peer = await stage.attach();
      const call = permittedCall(stage, await stage.tools(peer));
      const work = await stage.work(peer, { call });
      await allAnswered(stage, peer, [work]);
    },
  },
  {
    ...common,
    rule: "TOL-5",
    title: 'A call of a tool it does not have is answered with "success": false',
    run: async (stage) => {
      const peer = await stage.attach();
      const work = await stage.work(peer, { call: { name: NO_SUCH_TOOL, input: {} } });
      peer.send(work.event);
      const result = await stage.answer(peer, work);
      if (result["success"] !== false)
        throw new Unmet('"success":false', `"success":${JSON.stringify(result["success"])}`, linesOf([result]));
    },
  },
  {
    ...common,
    rule: "TOL-7",
    title: "Arguments it does not expect do not end it: each such call is answered",
    fix: "check what a call brings before it is used, and answer what is wrong with success false",
    run: async (stage) => {
      const peer = await stage.attach();
      const { name } = permittedCall(stage, await stage.tools(peer));
      const works: Work[] = [];
      for (const input of [{}, { [`unknown-${name}`]: 1 }, { path: null, text: 7, query: [] }]) {
        works.push(await stage.work(peer, { call: { name, input } }));
      }
      await allAnswered(stage, peer, works);
    },
  },
  { ...common, ...answersOnce },
  { ...common, ...cancelled },
  {
    ...common,
    rule: "TOL-9",
    title: "Its progress belongs to an open call",
    run: async (stage) => {
      const peer = await tourOf(stage);
      const open = new Set(peer.asked.keys());
      for (const event of peer.events()) {
        const call = String(event["call_id"]);
        if (event.event_type === "bb_tool_call_result") open.delete(call);
        if (event.event_type !== "bb_tool_progress" || open.has((event as unknown as ToolProgress).call_id)) continue;
        throw new Unmet("progress of an open call", "progress after its result, or of no call", linesOf([event]));
      }
    },
  },
  {
    ...common,
    rule: "QUE-1",
    title: "It asks the person within an open call",
    run: async (stage) => {
      const peer = await tourOf(stage);
      const wrong = peer.events("bb_input_request").find(({ call_id }) => !peer.asked.has(String(call_id)));
      if (wrong)
        throw new Unmet("a call_id that is open", JSON.stringify(wrong["call_id"]) ?? "none", linesOf([wrong]));
    },
  },
  {
    ...common,
    rule: "TRN-12",
    title: "It asks for child turns in scopes below that of its call",
    run: async (stage) => {
      const peer = await tourOf(stage);
      for (const event of peer.events("bb_turn_request")) {
        const within = peer.asked.get(String(event["call_id"]))?.["scope"];
        if (typeof within === "string" && String(event["scope"]).startsWith(`${within}/~`)) continue;
        throw new Unmet("its call's scope and /~…", JSON.stringify(event["scope"]) ?? "none", linesOf([event]));
      }
    },
  },
];

function permittedCall(stage: Stage, tools: Awaited<ReturnType<Stage["tools"]>>): { name: string; input: unknown } {
  const call = permitted({ tools, call: stage.subject.call, ms: 0 });
  if (call) return call;
  throw new Inapplicable("no tool is annotated read_only, so none is called: name one with --call 'NAME={…}'");
}
