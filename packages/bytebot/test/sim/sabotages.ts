import { recovery } from "./sabotages-recovery.ts";

/** One text of one file of `src` becomes another. */
export interface Edit {
  file: string;
  find: string;
  replace: string;
}

/** One rule of the Hub's taken out; `and`: the second line of defence with it. The seeds of its mode have to notice. */
export interface Sabotage extends Edit {
  name: string;
  and?: Edit;
  /** The first seed that is tried, where those that notice are rare. */
  from?: number;
}

const easy: readonly Sabotage[] = [
  {
    name: "the wall: any connection may touch any scope (SCP-7)",
    file: "hub/grants.ts",
    find: "return within(connection.grant.scopes, scope);",
    replace: "return within(connection.grant.scopes, scope) || true;",
  },
  {
    name: "the wall: both of its checks pass everything (SCP-7, SCP-8)",
    file: "hub/grants.ts",
    find: "return within(connection.grant.scopes, scope);",
    replace: "return within(connection.grant.scopes, scope) || true;",
    and: { file: "hub/readers/readers.ts", find: "if (scope === undefined) return true;", replace: "return true;" },
  },
  {
    name: "the wall: every UI is found for every scope (SCP-7)",
    file: "hub/connected.ts",
    find: "for (const prefix of prefixesOf(scope)) yield* this.scopes.get(prefix) ?? [];",
    replace: "yield* this.every();",
  },
  {
    name: "the wall: every UI is found for every scope, and its sink passes everything (SCP-7, SCP-8)",
    file: "hub/connected.ts",
    find: "for (const prefix of prefixesOf(scope)) yield* this.scopes.get(prefix) ?? [];",
    replace: "yield* this.every();",
    and: { file: "hub/readers/readers.ts", find: "if (scope === undefined) return true;", replace: "return true;" },
  },
  {
    name: "the wall: a late answer is audited under whatever scope it names (ENV-5)",
    file: "hub/step.ts",
    find: `if (event["scope"] !== undefined && event["scope"] !== scope) throw anotherScope(event);`,
    replace: "",
    and: { file: "hub/step.ts", find: "seen = { ...event, scope, from", replace: "seen = { ...event, from" },
  },
  {
    name: "telemetry is shown content that it was not granted (KND-4)",
    file: "hub/readers/readers.ts",
    find: "if (reader.grant.content)",
    replace: "if (true)",
  },
  {
    name: "a result counts from any connection (ENV-4)",
    file: "hub/tools/results.ts",
    find: "if (pending?.to !== connection.id || !call)",
    replace: "if (!pending || !call)",
  },
  {
    name: "an answer to an inference counts from any connection (ENV-4)",
    file: "hub/step.ts",
    find: "if (pending?.to === connection.id) {",
    replace: "if (pending) {",
  },
  {
    name: "an id that was seen before is new (ENV-3)",
    file: "hub/seen.ts",
    find: "if (!seen) {",
    replace: "if (true) {",
  },
  {
    name: "effects leave before what led to them is committed (LOG-1)",
    file: "hub/cells/cells.ts",
    find: "cell.waiting.push(batch);",
    replace:
      "for (const effect of batch.effects.splice(0)) this.carryOut({ cell: batch.cell, append: [], effects: [effect] });\n    cell.waiting.push(batch);",
  },
  {
    name: "a cell has several appends in flight (LOG-3)",
    file: "hub/cells/cells.ts",
    find: `if (cell.state === "idle") this.pump(cell);`,
    replace: `cell.state = "idle";\n    this.pump(cell);`,
  },
  {
    name: "an append of unknown outcome is repeated under a new id (LOG-4)",
    file: "hub/cells/cells.ts",
    find: "return await this.log.append(cell.name, pos, entry);",
    replace: "return await this.log.append(cell.name, pos, { ...entry, id: this.entryId() });",
  },
  {
    name: "a refused entry forgets what was acknowledged before it (LOG-4)",
    file: "hub/recovery/recall.ts",
    find: "      recallSeen(conversation, component, input.id, { event: asSent(event), answer });",
    replace: "      void answer;",
  },
  {
    name: "a refused entry leaves its askers without an answer (LOG-4)",
    file: "hub/cells/given-up.ts",
    find: "    answerAll(core, conversation, error);",
    replace: "",
  },
  {
    name: "a lost call is sent again whether it is idempotent or not (TOL-6)",
    file: "hub/tools/results.ts",
    find: "if (call.tool?.definition.annotations?.idempotent === true && call.deadline !== undefined) {",
    replace: "if (call.deadline !== undefined) {",
  },
  {
    name: "a call that was told to stop is sent again (TOL-6)",
    from: 96,
    file: "hub/tools/results.ts",
    find: "if (call.stopBy !== undefined) return unanswered(core, conversation, call);",
    replace: "",
  },
  {
    name: "a lost connection leaves its requests waiting (CON-7)",
    file: "hub/lost.ts",
    find: "if (call) linkLost(core, conversation, call);",
    replace: "if (call) continue;",
  },
  {
    name: "an interrupt stops also what comes after it (INT-1)",
    from: 47,
    file: "hub/turn/stop.ts",
    find: "turn?.stopping && turn.stopping.until <= core.now && turn.phase",
    replace: "turn && turn.phase",
  },
  {
    name: "the grace never ends (INT-4)",
    file: "hub/turn/stop.ts",
    find: 'core.effect(scope, { type: "timer", key: `grace:${scope}`, at: conversation.graceAt });',
    replace: "",
  },
  {
    name: "an interrupt of several cells has happened as soon as one of them has it (LOG-1, INT-6)",
    from: 59,
    file: "hub/turn/interrupt.ts",
    find: "if (!wide || --wide.left > 0) return;",
    replace: "if (!wide) return;",
  },
  {
    name: "an interrupt does not return what was not delivered (INT-2)",
    file: "hub/turn/stop.ts",
    find: `core.append(scope, { event_type: "input_state", id: input.id, scope, fate: "returned" });`,
    replace: "",
  },
  {
    name: "results stand in the order they came in (TRN-5)",
    file: "hub/turn/history.ts",
    find: "const results = calls.map(",
    replace: "const results = [...calls].reverse().map(",
  },
  {
    name: "a retry does not count its attempt (TRN-7)",
    file: "hub/turn/turn.ts",
    find: "  turn.attempt++;\n",
    replace: "",
  },
  {
    name: "the next round does not wait for the last call (TRN-5)",
    file: "hub/turn/turn.ts",
    find: `if (asked.some((each) => each.state !== "done")) return;`,
    replace: `if (asked.every((each) => each.state !== "done")) return;`,
  },
  {
    name: "input that names no mode waits, whatever the rules say (INP-5)",
    file: "hub/turn/mode.ts",
    find: "return mode ?? rules.findLast((rule) => encloses(rule.scope, scope))?.mode;",
    replace: "return mode;",
  },
  {
    name: "the queue is a stack (INP-3)",
    file: "hub/turn/input.ts",
    find: "} else queue.push(input);",
    replace: "} else queue.unshift(input);",
  },
  {
    name: "a steer whose loop ended is forgotten (INP-3)",
    file: "hub/turn/turn.ts",
    find: "conversation.queue.unshift(...turn.steers.splice(0));",
    replace: "turn.steers.splice(0);",
  },
  {
    name: "idle is said while the queue is not empty (TRN-9)",
    file: "hub/turn/turn.ts",
    find: '  core.append(scope, {\n    event_type: "infer_chunk",\n    kind: "loop_done",',
    replace:
      '  core.effect(scope, { type: "publish", event: { event_type: "scope_state", scope, state: "idle", ts: core.now } });\n  core.append(scope, {\n    event_type: "infer_chunk",\n    kind: "loop_done",',
  },
  {
    name: "the last result wins, not the first (TOL-5)",
    file: "hub/tools/results.ts",
    find: "  conversation.calls.delete(call.id);\n  // No effect where it never ran: the two events of a refused call are one entry.\n  if (!core.drop(call.id) && ",
    replace: "  if (",
  },
  {
    name: "a call runs whatever the person answered (POL-2)",
    file: "hub/tools/calls.ts",
    find: "const yes = isYes(choice);",
    replace: "const yes = true;",
  },
  {
    name: "anybody may answer what a rule lets only some people answer (POL-6)",
    file: "hub/tools/replies.ts",
    find: "if (!isEntitled(approversOf(question), reply.principal)) throw",
    replace: "if (false) throw",
  },
  {
    name: "a person is whoever the sender says (PRN-2)",
    file: "hub/principals.ts",
    find: "if (said === principal || vouches) return event;",
    replace: "if (vouches !== undefined) return event;",
  },
  {
    name: "the questions of a call outlive it (QUE-6)",
    file: "hub/tools/results.ts",
    find: `cancelQuestions(core, conversation, ({ asker }) => "call" in asker && asker.call === call);`,
    replace: "",
  },
  {
    name: "anybody may answer a question (SCP-7)",
    file: "hub/tools/replies.ts",
    find: "if (!conversation || !question || !mayTouch(connection, conversation.scope)) throw notOpen(id);",
    replace: "if (!conversation || !question) throw notOpen(id);",
  },
  {
    name: "what was deleted is remembered (CVS-5)",
    file: "hub/conversations/conversations.ts",
    find: "for (const conversation of all) core.remove(conversation);",
    replace: "",
  },
  {
    name: "a fork has nothing of what was said (CVS-4)",
    file: "hub/conversations/conversations.ts",
    find: "conversation.messages = begun.messages;",
    replace: "",
  },
  {
    name: "a fork has what waited at its place (CVS-4)",
    file: "hub/recovery/recall.ts",
    find: "queue.length = 0;",
    replace: "void queue;",
  },
  {
    name: "what a tenant has used is not kept (QTA-6)",
    file: "hub/cells/cells.ts",
    find: "if (spent) kept = { ...kept, spent: addSpent(kept.spent, spent) };",
    replace: "if (spent) kept = { ...kept, spent };",
  },
  {
    name: "child turns outlive their call (TRN-12)",
    file: "hub/go-on.ts",
    find: "      stopChildren(core, happened.call);\n",
    replace: "",
  },
  {
    name: "a reader is shown a cell before its open state (RPL-2)",
    from: 511,
    file: "hub/readers/readers.ts",
    find: "if (!resume) return cell === undefined || !joining.has(cell);",
    replace: "if (!resume) return true;",
  },
  {
    name: "one chunk in ten is lost on its way to a UI (CHK-2)",
    file: "hub/readers/readers.ts",
    find: "if (types && !types.has(event.event_type)) return;",
    replace: `if ((types && !types.has(event.event_type)) || (event["kind"] === "block_delta" && Number(event["n"]) % 10 === 3)) return;`,
  },
];

export const sabotages: readonly (Sabotage & { mode: "easy" | "hard" })[] = [
  ...easy.map((sabotage) => ({ ...sabotage, mode: "easy" as const })),
  ...recovery.map((sabotage) => ({ ...sabotage, mode: "hard" as const })),
];
