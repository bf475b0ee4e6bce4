import { BytebotError, within, type ContextRenderResult } from "../../wire/index.ts";
import type { Core } from "../core.ts";
import { mustFit, weigh } from "./fit.ts";
import { mayTouch } from "../grants.ts";
import { historyFor, placeIn } from "./incremental.ts";
import { fromContext, toContext } from "./shape.ts";
import type { Conversation, Round, Synced, Tool, Turn } from "../state.ts";
import { offeredIn, toModel } from "../tools/tools.ts";

/** Asks the context what the model shall see. False: none is part of this app, the plain transcript serves (rule TRN-3). */
export function render(core: Core, conversation: Conversation, turn: Turn): boolean {
  const { scope } = conversation;
  const context = serving(core, "context", scope);
  if (!context) {
    if (!isExpected(core, scope)) return false;
    throw new BytebotError(
      "unavailable",
      "the context component is not there: see why it ended, or set context_fallback",
      { retryable: true },
    );
  }
  const infer = serving(core, "infer", scope);
  const tools = [...offeredIn(core, scope)].map(toModel);
  const { history, history_whole } = historyFor(context, conversation);
  const asked = toContext(context, { tools, history });
  mustFit(asked, history_whole ? weigh(conversation) : undefined);
  const request = core.newId("r");
  const upto = placeIn(conversation.messages);
  turn.phase = { step: "rendering", request, to: context.id, upto, whole: history_whole };
  core.expect(request, context.id, scope, "render");
  core.send(scope, context.id, {
    event_type: "bb_context_render_request",
    id: request,
    scope,
    loop_id: turn.loopId,
    round: turn.round,
    ...(infer ? { infer: { name: infer.offer.name, capabilities: { ...infer.grant.capabilities } } } : {}),
    ...asked,
    history_whole,
  });
  core.effect(scope, { type: "timer", key: `render:${request}`, at: core.now + core.limits.renderMs });
  return true;
}

/** This app has a context, and it is not there. */
export function lacksContext(core: Core, scope: string): boolean {
  return isExpected(core, scope) && !serving(core, "context", scope);
}

/**
 * Whoever a round needs first is not there yet, after a restart of the Hub. What the round is to send is decided only when
 * they are: tools that come back before them are offered.
 */
export function isAwaited(core: Core, scope: string): boolean {
  return core.isAwaiting && (lacksContext(core, scope) || !serving(core, "infer", scope));
}

/** Is a context of the app's for this scope, so that nothing else serves in its place? */
function isExpected(core: Core, scope: string): boolean {
  return !core.options.contextFallback && [...core.contexts.values()].some((scopes) => within(scopes, scope));
}

/** The Hub's defaults: the transcript as it is, every tool of the scope, the primary infer. */
export function plainRound(core: Core, conversation: Conversation): Round {
  const offered = offeredIn(core, conversation.scope);
  return { infer: undefined, offered, fields: { messages: conversation.messages, ...toolsOf(offered) } };
}

/** What the context chose, over the Hub's defaults. */
export function renderedRound(core: Core, conversation: Conversation, answer: ContextRenderResult): Round {
  const { scope } = conversation;
  const result = fromContext(answer);
  const offered = chooseTools(offeredIn(core, scope), result.tools);
  const { system, model, params, tool_choice } = result;
  const messages = result.messages ?? conversation.messages;
  const chosen = Object.entries({ system, model, params, tool_choice }).filter(([, value]) => value !== undefined);
  return { infer: result.infer, offered, fields: { messages, ...toolsOf(offered), ...Object.fromEntries(chosen) } };
}

function chooseTools(all: Map<string, Tool>, names: ContextRenderResult["tools"]): Map<string, Tool> {
  if (!names) return all;
  const wanted = new Set(names.map((tool) => (typeof tool === "string" ? tool : tool.name)));
  const unknown = [...wanted].find((name) => !all.has(name));
  if (unknown !== undefined)
    throw new BytebotError("invalid_params", `the context names the tool "${unknown}", which this scope does not have`);
  return new Map([...all].filter(([name]) => wanted.has(name)));
}

function toolsOf(offered: ReadonlyMap<string, Tool>): Pick<Round["fields"], "tools"> {
  return offered.size === 0 ? {} : { tools: [...offered].map(toModel) };
}

/** Who answers a round; undefined: it is being started again, and will be back (rule TRN-11). */
export function chooseInfer(core: Core, scope: string, name: string | undefined): Synced | undefined {
  const infer = serving(core, "infer", scope, name);
  if (infer) return infer;
  const comes = [...core.away.values()].some(
    ({ offer, until }) =>
      core.now < until && within(offer.scopes, scope) && (name === undefined || offer.name === name),
  );
  if (comes || core.isAwaiting) return undefined;
  const what = name === undefined ? "no infer component is attached" : `no infer component is named "${name}"`;
  throw new BytebotError("unavailable", `${what}: attach one with hub.attachInfer(…), or "infer" in the app file`, {
    retryable: false,
  });
}

/** The component of this kind for a scope: the named one, else the primary, else the first that is there. */
function serving(core: Core, kind: "context" | "infer", scope: string, name?: string): Synced | undefined {
  let first: Synced | undefined;
  for (const connection of core.connected.ofKind(kind)) {
    if (!mayTouch(connection, scope)) continue;
    if (name !== undefined ? connection.offer.name === name : connection.grant.primary) return connection;
    first ??= connection;
  }
  return name === undefined ? first : undefined;
}
