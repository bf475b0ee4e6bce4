/** The policy's check of one call by 200 rules, beside a plain loop of 200 compiled RegExps. In this process, without I/O: CPU time, which others on the machine do not stretch. */
import { Policy } from "../packages/bytebot/dist/hub/tools/policy.js";
import type { PolicyRule } from "bytebot";
import type { Measure } from "./measure.ts";
import type { Figure } from "./work.ts";

const RULES = 200;
const CALLS = 200_000;
const PATH = "/work/src/wire/events/control.ts";

/** As an app has them: by tool, component, scope and arguments; none of them decides this call, so that all are looked at. */
const rules = Array.from({ length: RULES }, (_, at): PolicyRule => {
  const of: Partial<PolicyRule>[] = [
    { tool: `service-${at}/*` },
    { tool: `tool_${at}` },
    { tool: "write", input: { "/path": `/etc/${at}/*` } },
    { tool: "files/*", scope: `u_${at}` },
    { tool: "*", component: "files", input: { "/path": `*/secret-${at}/*` } },
  ];
  return { tool: "*", ...of[at % of.length], decision: "ask" };
});
/** What every rule has to look at. */
const worst = Array.from({ length: RULES }, (_, at): PolicyRule => ({
  ...{ tool: "*", component: "f*", scope: "u_7f3a", input: { "/path": `*/secret-${at}/*` }, decision: "deny" },
}));

const tool = {
  definition: { name: "write", input_schema: { type: "object" } },
  componentId: "files",
  component: "files",
  hash: "h",
  schema: undefined as never,
};
const call = { tool, modelName: "write", scope: "u_7f3a/c_2", input: { path: PATH, content: "x" }, askFirst: false };

function timed(check: () => boolean): Promise<Figure> {
  for (let count = 0; count < CALLS / 10; count++) check();
  const began = process.cpuUsage();
  for (let count = 0; count < CALLS; count++) if (check()) throw new Error("a rule matched that does not");
  return Promise.resolve({ call_us: process.cpuUsage(began).user / CALLS });
}

function ours(list: readonly PolicyRule[]): Promise<Figure> {
  const policy = new Policy(list);
  return timed(() => policy.decide(call).rule !== undefined);
}

function floor(): Promise<Figure> {
  const patterns = rules.map(({ tool: name, input }) => {
    const text = input?.["/path"] ?? name;
    const parts = text.split("*").map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`));
    return new RegExp(`^(?:${parts.join(".*")})$`, "s");
  });
  // "files/*" and "*" would match: here the text alone is looked at.
  const looked = patterns.filter((pattern) => !pattern.test(PATH));
  while (looked.length < RULES) looked.push(...looked.slice(0, RULES - looked.length));
  return timed(() => looked.some((pattern) => pattern.test(PATH)));
}

export const policy: Measure = {
  title: "Policy: one call by 200 rules",
  columns: [{ key: "call_us", title: "a call", unit: "µs" }],
  contenders: [
    { name: "a loop of 200 compiled RegExps", role: "floor", measure: floor },
    { name: "ByteBot, rules of all sorts", role: "ours", goals: { call_us: "≤ 5" }, measure: () => ours(rules) },
    { name: "ByteBot, each rule about this tool, scope and path", role: "also", measure: () => ours(worst) },
  ],
};
