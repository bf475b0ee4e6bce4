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
  const taken = new Set<string>();
  for (const [id, tools] of core.tools) if (id !== componentId) for (const tool of tools) taken.add(tool.modelName);
  const tools: Tool[] = [];
  const names = new Set<string>();
  for (const [index, definition] of event.tools.entries()) {
    if (names.has(definition.name)) throw conflict(component, definition.name, "it is there twice");
    names.add(definition.name);
    const modelName = pickName(component, definition.name, taken);
    taken.add(modelName);
    tools.push({
      definition,
      componentId,
      component,
      modelName,
      hash: hashOf(definition),
      schema: schemas[index]!,
    });
  }
  core.tools.set(componentId, tools);
  core.send(undefined, connection.id, {
    event_type: "bb_tool_register_result",
    in_reply_to: event.id,
    success: true,
    tools: tools.map((tool) => ({
      id: idOf(tool),
      name: tool.definition.name,
      model_name: tool.modelName,
    })),
  });
  core.effect(undefined, { type: "ready", to: connection.id });
  core.raise({ type: "tools_registered" });
}

/** The plain name where it is free, else `component_name`; two that come out alike are refused (rule TOL-3). */
function pickName(component: string, name: string, taken: ReadonlySet<string>): string {
  for (const wish of [name, `${component}_${name}`]) {
    const modelName = wish.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 64);
    if (!taken.has(modelName)) return modelName;
  }
  throw conflict(component, name, "its name for the model is taken by another tool");
}

function conflict(component: string, name: string, why: string): BytebotError {
  return new BytebotError(
    "conflict",
    `tool "${name}" of ${component}: ${why}; rename it. The tools registered before stay`,
  );
}

export function hashOf(definition: ToolDefinition): string {
  const { name, description, input_schema, annotations } = definition;
  return createHash("sha256").update(canonical({ name, description, input_schema, annotations })).digest("hex");
}

/** JSON with sorted keys: equal values, equal text. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

/** The tools of this scope in a fixed order, so that the block the model sees is the same bytes every turn (rule TOL-4). */
export function offeredIn(core: Core, scope: string): Map<string, Tool> {
  const offered: Tool[] = [];
  for (const connection of core.all()) {
    if (connection.grant.kind !== "toolsource" || !mayTouch(connection, scope)) continue;
    offered.push(...(core.tools.get(connection.offer.componentId) ?? []));
  }
  offered.sort((a, b) => (a.modelName < b.modelName ? -1 : 1));
  return new Map(offered.map((tool) => [tool.modelName, tool]));
}

/** The tool with this id, registered or model-facing name in this scope. */
export function findTool(core: Core, scope: string, name: string): Tool | undefined {
  for (const connection of core.all()) {
    if (connection.grant.kind !== "toolsource" || !mayTouch(connection, scope)) continue;
    for (const tool of core.tools.get(connection.offer.componentId) ?? []) {
      if (tool.modelName === name || tool.definition.name === name || idOf(tool) === name) return tool;
    }
  }
  return undefined;
}

/** `component/name`. */
export function idOf(tool: Tool): string {
  return `${tool.component}/${tool.definition.name}`;
}

export function toModel(tool: Tool): ModelTool {
  const { description, input_schema } = tool.definition;
  return { name: tool.modelName, ...(description === undefined ? {} : { description }), input_schema };
}

/** The connection that serves a component's tools in this scope now: one that returned may have asked for less. */
export function servedBy(core: Core, componentId: string, scope: string): Synced | undefined {
  for (const connection of core.all()) {
    const { offer, grant } = connection;
    if (offer.componentId === componentId && grant.kind === "toolsource" && mayTouch(connection, scope))
      return connection;
  }
  return undefined;
}
