import { BytebotError, type ToolDefinition } from "../wire/index.ts";
import type { Call } from "./plan.ts";
import type { Recorded } from "./recording.ts";
import { isOfSchema, lostBy, removedSince } from "./said.ts";

/** Different tools of one cell: each has a connection of its own, so that it can be lost by itself. */
const MOST_TOOLS = 1000;
/** Characters of refused arguments that a schema may name: under the limit of rule TOL-1. */
const MOST_REFUSED = 48 * 1024;

/** A tool as a recorded component has it. */
export interface PlayedTool {
  component: string;
  modelName: string;
  definition: ToolDefinition;
}

/** The tools that these calls are of, in the order in which they have to be registered to get the names that they had. */
export function toolsOf(
  events: readonly Recorded[],
  all: Iterable<Call>,
  registered: ReadonlyMap<string, ToolDefinition>,
): PlayedTool[] {
  const tools = new Map<string, PlayedTool>();
  const components = componentsIn(events);
  const byName = new Map<string, Call[]>();
  for (const call of all) {
    const calls = byName.get(call.modelName);
    if (calls) calls.push(call);
    else byName.set(call.modelName, [call]);
  }
  for (const [modelName, calls] of byName) {
    const call = calls.find(existed);
    if (!call) continue;
    const plain = toModelName(call.name);
    const renamed = modelName !== plain && modelName.endsWith(`_${plain}`);
    const name = renamed || modelName === plain ? call.name : modelName;
    const component = renamed ? modelName.slice(0, -plain.length - 1) : (components.get(name) ?? "tools");
    const definition = registered.get(name) ?? define(name, calls);
    tools.set(modelName, { component, modelName, definition });
    // Its plain name was another's.
    if (renamed && !tools.has(plain))
      tools.set(plain, { component: "others", modelName: plain, definition: { ...definition, name: plain } });
    if (tools.size > MOST_TOOLS)
      throw new BytebotError("too_large", `its calls are of more than ${MOST_TOOLS} different tools`);
  }
  // A plain name goes to whoever comes first.
  return [...tools.values()].sort((a, b) => rank(a) - rank(b));
}

/** By the names of tools: an approval names the component, and so does a connection that was lost. */
function componentsIn(events: readonly Recorded[]): Map<string, string> {
  const components = new Map<string, string>();
  for (const { event } of events) {
    const { approval, name } = event as { approval?: { name: string }; name?: string };
    const at = approval?.name.lastIndexOf("/") ?? -1;
    if (approval && at > 0) components.set(approval.name.slice(at + 1), approval.name.slice(0, at));
    const lost = lostBy(event);
    if (lost !== undefined) components.set(String(name), lost);
  }
  return components;
}

/** What takes the arguments that were taken: the file does not say more. */
function define(name: string, calls: readonly Call[]): ToolDefinition {
  const refused = calls.filter(({ result }) => result && isOfSchema(result.event)).map(({ input }) => input);
  const request = calls.find((call) => call.request)?.request?.event;
  const timeout = Number(request?.["deadline_ts"]) - Number(request?.["ts"]);
  const named = refused.length > 0 && JSON.stringify(refused).length <= MOST_REFUSED;
  const annotations = request?.["idempotent"] === true ? { annotations: { idempotent: true } } : {};
  const input_schema = { type: "object", ...(named ? { not: { enum: refused } } : {}) };
  return {
    name,
    input_schema,
    ...annotations,
    ...(Number.isInteger(timeout) && timeout > 0 ? { timeout_ms: timeout } : {}),
  };
}

/** The call came as far as its tool, or to where only a tool's own can come. */
function existed({ request, decision, result }: Call): boolean {
  if (request || decision !== "allow") return true;
  if (!result) return false;
  const { event } = result;
  return event["status"] === "cancelled" || isOfSchema(event) || removedSince(event) !== undefined;
}

function toModelName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 64);
}

function rank({ modelName, definition }: PlayedTool): number {
  return modelName === toModelName(definition.name) ? 0 : 1;
}
