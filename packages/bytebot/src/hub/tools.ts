import { createHash } from "node:crypto";
import { Validator, type Schema } from "@cfworker/json-schema";
import { BytebotError, within, type ModelTool, type ToolDefinition, type ToolRegister } from "../wire/index.ts";
import type { Core } from "./core.ts";
import type { Synced, Tool } from "./state.ts";

const MAX_SCHEMA = 64 * 1024;

/** Replaces a component's tools whole, or refuses and changes nothing (rule TOL-1). */
export function register(core: Core, connection: Synced, event: ToolRegister): void {
  const { componentId, name: component } = connection.offer;
  const taken = new Set<string>();
  for (const [id, tools] of core.tools) if (id !== componentId) for (const tool of tools) taken.add(tool.modelName);
  const tools: Tool[] = [];
  const names = new Set<string>();
  for (const definition of event.tools) {
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
      validate: validator(definition),
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

function hashOf(definition: ToolDefinition): string {
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

/** Checks arguments against the schema; answers what is wrong, in words for the model. An interpreter: no code is made from a schema. */
function validator(definition: ToolDefinition): Tool["validate"] {
  const schema = definition.input_schema as Schema;
  if (JSON.stringify(schema).length > MAX_SCHEMA) {
    throw new BytebotError("too_large", `the input_schema of tool "${definition.name}" is over ${MAX_SCHEMA} bytes`);
  }
  return schemaCheck(schema, `tool "${definition.name}"`);
}

/** References can double at each step, so that a small schema takes for ever. */
const MAX_REFS = 32;

/** Keywords whose value is data, not a schema. */
const DATA = new Set(["const", "enum", "default", "examples"]);

/**
 * A pattern of a satellite's could keep the Hub busy for ever; the tool that wrote it has to check it itself (rule TOL-7).
 * What is said of the properties beside patterns goes with them: without these it would refuse what they allow.
 */
function withoutPatterns(schema: unknown): unknown {
  if (typeof schema !== "object" || schema === null) return schema;
  const record = schema as Record<string, unknown>;
  if (typeof record["pattern"] === "string") delete record["pattern"];
  if (record["patternProperties"] !== undefined) {
    for (const keyword of ["patternProperties", "additionalProperties", "unevaluatedProperties"])
      delete record[keyword];
  }
  for (const [keyword, inner] of Object.entries(record)) if (!DATA.has(keyword)) withoutPatterns(inner);
  return schema;
}

export function schemaCheck(schema: Schema | Record<string, unknown>, what: string): Tool["validate"] {
  if (JSON.stringify(schema).split('Ref":').length + JSON.stringify(schema).split('"$ref":').length - 2 > MAX_REFS) {
    throw new BytebotError(
      "invalid_params",
      `the schema of ${what} has more than ${MAX_REFS} references: write them out`,
    );
  }
  let validate: Validator;
  try {
    // The validator writes into its schema, and ours is frozen.
    validate = new Validator(withoutPatterns(structuredClone(schema)) as Schema, "2020-12", true);
    // A schema with a broken $ref or pattern shows it only when used: better now than in a call.
    validate.validate({});
  } catch (cause) {
    throw new BytebotError("invalid_params", `the schema of ${what} is not usable: ${String(cause)}`, { cause });
  }
  return (input) => {
    let outcome: ReturnType<Validator["validate"]>;
    try {
      outcome = validate.validate(input);
    } catch (error) {
      return `the schema cannot be applied: ${String(error)}`; // it refers to itself without an end
    }
    const { valid, errors } = outcome;
    if (valid) return undefined;
    const worst = errors.at(-1);
    return worst ? `${worst.instanceLocation.replace(/^#/, "input")}: ${worst.error}` : "does not match the schema";
  };
}

/** The tools of this scope in a fixed order, so that the block the model sees is the same bytes every turn (rule TOL-4). */
export function offeredIn(core: Core, scope: string): Map<string, Tool> {
  const offered: Tool[] = [];
  for (const connection of core.all()) {
    if (connection.grant.kind !== "toolsource" || !within(connection.grant.scopes, scope)) continue;
    offered.push(...(core.tools.get(connection.offer.componentId) ?? []));
  }
  offered.sort((a, b) => (a.modelName < b.modelName ? -1 : 1));
  return new Map(offered.map((tool) => [tool.modelName, tool]));
}

/** The tool with this id, registered or model-facing name in this scope. */
export function findTool(core: Core, scope: string, name: string): Tool | undefined {
  for (const connection of core.all()) {
    if (connection.grant.kind !== "toolsource" || !within(connection.grant.scopes, scope)) continue;
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

/** The connection that serves a component's tools now. */
export function servedBy(core: Core, componentId: string): Synced | undefined {
  for (const connection of core.all()) {
    if (connection.offer.componentId === componentId && connection.grant.kind === "toolsource") return connection;
  }
  return undefined;
}
