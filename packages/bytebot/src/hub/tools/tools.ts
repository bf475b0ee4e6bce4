import { createHash } from "node:crypto";
import { BytebotError, type ModelTool, type ToolDefinition, type ToolRegister } from "../../wire/index.ts";
import type { Core } from "../core.ts";
import { mayTouch } from "../grants.ts";
import { toSchema, unusable, type Schema } from "./schema.ts";
import type { Synced, Tool } from "../state.ts";

/** Replaces a component's tools whole, or refuses and changes nothing; schemas that may take long are tried first (rule TOL-1). */
export function register(core: Core, connection: Synced, event: ToolRegister): void {
  const { componentId, name: component } = connection.offer;
  const schemas = event.tools.map(({ name, input_schema }) => toSchema(input_schema, `tool "${name}"`));
  const costly = schemas.flatMap(({ text, plain }, index) => (plain ? [] : [{ text, name: event.tools[index]!.name }]));
  if (costly.length === 0 && connection.registering === 0) return replace(core, connection, event, schemas);
  const of = { connection: connection.id, event };
  core.check({ by: componentId, schemas: costly.map(({ text }) => text), of }, (outcome) => {
    connection.registering--;
    if (!core.synced(connection.id)) return;
    if (outcome.result === "unusable") {
      const names = costly.map(({ name }) => `"${name}"`).join(", ");
      throw unusable(`${costly.length === 1 ? "tool" : "one of the tools"} ${names} of ${component}`, outcome.why);
    }
    replace(core, connection, event, schemas);
  });
  connection.registering++;
}

function replace(core: Core, connection: Synced, event: ToolRegister, schemas: readonly Schema[]): void {
  const { componentId, name: component } = connection.offer;
  const tools = event.tools.map((definition, index): Tool => ({
    definition,
    componentId,
    component,
    hash: hashOf(componentId, definition),
    schema: schemas[index]!,
  }));
  const names = new Set<string>();
  for (const tool of tools) {
    if (names.has(tool.definition.name)) throw twice(tool);
    names.add(tool.definition.name);
  }
  const modelNames = core.tools.replace(componentId, connection.grant.scopes, tools);
  core.send(undefined, connection.id, {
    event_type: "bb_tool_register_result",
    in_reply_to: event.id,
    success: true,
    tools: tools.map((tool, index) => ({
      id: idOf(tool),
      name: tool.definition.name,
      model_name: modelNames[index],
    })),
  });
  core.effect(undefined, { type: "ready", to: connection.id });
  core.raise({ type: "tools_registered" });
}

function twice({ component, definition: { name } }: Tool): BytebotError {
  return new BytebotError(
    "conflict",
    `tool "${name}" of ${component}: it is there twice; rename one. The tools registered before stay`,
  );
}

/** Of all that the model and the person are shown of it, and of whose it is: another's that looks the same is another. */
export function hashOf(componentId: string, definition: ToolDefinition): string {
  const { name, description, input_schema, annotations } = definition;
  const shown = { componentId, name, description, input_schema, annotations };
  return createHash("sha256").update(canonical(shown)).digest("hex");
}

/** JSON with sorted keys: equal values, equal text. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

/**
 * The tools of this scope by their names for the model, in a fixed order, so that the block the model sees is the same
 * bytes every turn (rule TOL-4).
 */
export function offeredIn(core: Core, scope: string): Map<string, Tool> {
  const serving = new Set<string>();
  for (const connection of core.connected.ofKind("toolsource")) {
    if (mayTouch(connection, scope)) serving.add(connection.offer.componentId);
  }
  const offered = [...core.tools.in(scope)].filter(([, { componentId }]) => serving.has(componentId));
  return new Map(offered.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The tool with this name for the model, id or registered name in this scope, and the first of these. */
export function findTool(core: Core, scope: string, name: string): [modelName: string, Tool] | undefined {
  const offered = [...offeredIn(core, scope)];
  return (
    offered.find(([modelName]) => modelName === name) ??
    offered.find(([, tool]) => idOf(tool) === name || tool.definition.name === name)
  );
}

/** `component/name`. */
export function idOf(tool: Tool): string {
  return `${tool.component}/${tool.definition.name}`;
}

export function toModel([name, tool]: readonly [modelName: string, Tool]): ModelTool {
  const { description, input_schema } = tool.definition;
  return { name, ...(description === undefined ? {} : { description }), input_schema };
}

/** The connection that serves a component's tools in this scope now: one that returned may have asked for less. */
export function servedBy(core: Core, componentId: string, scope: string): Synced | undefined {
  for (const connection of core.connected.ofKind("toolsource")) {
    if (connection.offer.componentId === componentId && mayTouch(connection, scope)) return connection;
  }
  return undefined;
}
