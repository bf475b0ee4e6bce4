import type { Sabotage } from "./sabotages.ts";

/** Rules of recovery (REC-1 to REC-7): seeds in which the Hub itself is killed have to notice. */
export const recovery: readonly Sabotage[] = [
  {
    name: "a call that was sent and may not run twice is sent again (REC-4)",
    file: "hub/recovery/resume.ts",
    find: "if (held.sent && !held.again) return lost(core, conversation, call);",
    replace: "",
    and: { file: "hub/recovery/resume.ts", find: "if (sent) return goAgain(core, conversation, call);", replace: "" },
  },
  {
    name: "an idempotent call is given up, not sent again under its id (REC-4)",
    file: "hub/recovery/resume.ts",
    find: "if (sent) return goAgain(core, conversation, call);",
    replace: 'if (sent) call.id = core.newId("c");',
  },
  {
    name: "a result that is in the log is asked for again (REC-4)",
    file: "hub/recovery/recall.ts",
    find: '  conversation.calls.delete(call.id);\n  call.state = "done";',
    replace: '  call.state = "returning";',
  },
  {
    name: "input that waited is dropped by a restart (REC-1)",
    file: "hub/recovery/recall.ts",
    find: "    } else queue.push(input);",
    replace: "    }",
  },
  {
    name: "input that an interrupt had reached is delivered after a restart (REC-4)",
    file: "hub/recovery/recall.ts",
    find: "input.returning = true;",
    replace: "void input;",
  },
  {
    name: "steers are delivered twice (REC-1)",
    file: "hub/recovery/recall.ts",
    find: "heldOf(turn).due.splice(0)",
    replace: "heldOf(turn).due",
  },
  {
    name: "a steer that the log has is forgotten (REC-1)",
    file: "hub/recovery/recall.ts",
    find: "if (steering) turn.steers.push(input);",
    replace: "if (steering) return;",
  },
  {
    name: "attempts are not counted over a restart (REC-4)",
    file: "hub/recovery/recall.ts",
    find: "    turn.attempt++;\n",
    replace: "",
  },
  {
    name: "that an inference is tried again is not read (REC-2)",
    file: "hub/recovery/recall.ts",
    find: `event["will_retry"] === true`,
    replace: "false",
  },
  {
    name: "an interrupt that was logged is not read (REC-4)",
    file: "hub/recovery/recall.ts",
    find: "if (turn) turn.stopping ??= { reason, until: 0 };",
    replace: "void reason;",
  },
  {
    name: "an owner's call that was told to stop goes on (REC-4)",
    from: 110,
    file: "hub/recovery/resume.ts",
    find: "if (ending || call.held.stopped)",
    replace: "if (ending)",
  },
  {
    name: "a child turn goes on without its call (REC-4)",
    file: "hub/recovery/resume.ts",
    find: `how === "resume" && !returning && requester?.callId === undefined;`,
    replace: `how === "resume" && !returning && (requester === undefined || true);`,
  },
  {
    name: "a cut-off inference has no result in the log (REC-4)",
    file: "hub/recovery/resume.ts",
    find: `    case "inferring":
      return inferred(`,
    replace: `    case "inferring":
      turn.attempt++;
      turn.phase = { step: "pausing" };
      return again(core, conversation, turn, false);
      return inferred(`,
  },
  {
    name: "partial blocks of a failed attempt are kept (REC-1)",
    file: "hub/recovery/recall.ts",
    find: '  turn.phase = { ...held(), at: "inferring", request: String(event["id"]) };',
    replace:
      '  const { blocks } = heldOf(turn);\n  turn.phase = { ...held(), at: "inferring", request: String(event["id"]), blocks };',
    and: {
      file: "hub/recovery/recall.ts",
      find: "    turn.phase = held();\n    turn.attempt++;",
      replace: "    turn.attempt++;",
    },
  },
  {
    name: "an answer for the whole conversation does not outlive the Hub (REC-5)",
    file: "hub/recovery/recall.ts",
    find: "allowedBy(conversation, call, tool_hash, choice, { principal, until });",
    replace: "allowedBy(conversation, call, tool_hash, choice, { principal });",
  },
  {
    name: "who allowed a call does not outlive the Hub (REC-5, POL-6)",
    file: "hub/recovery/recall.ts",
    find: "allowedBy(conversation, call, tool_hash, choice, { principal, until });",
    replace: "allowedBy(conversation, call, tool_hash, choice, { until });",
  },
  {
    name: "a call runs by whatever tool has the name that was allowed (REC-5, POL-2)",
    from: 39,
    file: "hub/tools/calls.ts",
    find: "tool.hash === hash && isCurrent(core, tool);",
    replace: "true;",
  },
  {
    name: "a question about a call does not outlive the Hub (REC-5)",
    file: "hub/recovery/recall.ts",
    find: `    asker = { type: "approval", call };`,
    replace: `    asker = { type: "gone" };`,
  },
  {
    name: "a call that a person denied runs after a restart (REC-5)",
    file: "hub/recovery/recall.ts",
    find: "if (choice !== undefined && isYes(choice)) {",
    replace: `if (choice !== undefined && (isYes(choice) || choice === "deny")) {`,
  },
  {
    name: "an owner's turn is run again when it is asked for again (REC-3)",
    file: "hub/recovery/recall.ts",
    find: "if (input.requester) recallSeen(conversation, component, input.requester.id, {});",
    replace: "if (input.requester) void component;",
    and: {
      file: "hub/recovery/recall.ts",
      find: `    const result = turnResult(`,
      replace: `    conversation.seen.get(requester.component)?.delete(requester.id);\n    const result = turnResult(`,
    },
  },
  {
    name: "an owner's call is run again when it is asked for again (REC-3)",
    file: "hub/recovery/recall.ts",
    find: `  if (request_id !== undefined) call.requester = { connection: "", component: String(from), id: request_id, ...person };\n`,
    replace: "  void from;\n  void request_id;\n  void person;\n",
  },
  {
    name: "an input is taken again that the log has (REC-3)",
    file: "hub/seen.ts",
    find: "  known.set(id, seen);\n",
    replace: "  void seen;\n",
  },
  {
    name: "the log does not say that something is under way (LOG-6)",
    file: "hub/core.ts",
    find: "batch.open = true;",
    replace: "void batch;",
  },
  {
    name: "a snapshot forgets what was asked before it (REC-6)",
    file: "hub/recovery/held.ts",
    find: "    seen: [...seen].flatMap(",
    replace: "    seen: [...seen].slice(0, 0).flatMap(",
  },
  {
    name: "a snapshot forgets what waits (REC-6)",
    file: "hub/recovery/held.ts",
    find: "    queue: queue.map(fromInput),",
    replace: "    queue: queue.slice(0, 0).map(fromInput),",
  },
  {
    name: "a snapshot forgets the round of its turn (REC-6)",
    file: "hub/recovery/held.ts",
    find: "asked: phase.calls.map(fromCall)",
    replace: "asked: []",
  },
  {
    name: "a snapshot stands before what led to it (REC-6)",
    from: 43,
    file: "hub/cells/cells.ts",
    find: "if (batches[0]!.base || next.base) break;",
    replace: "if (batches[0]!.base) break;",
  },
  {
    name: "a cell leaves the memory while something goes on in it (REC-7)",
    file: "hub/recovery/loading.ts",
    find: "!(alone && this.options.cells.isQuiet(input.cell))",
    replace: "!alone && false",
    and: { file: "hub/recovery/resume.ts", find: "if (core.loaded.isBusy(cell)) return;", replace: "" },
  },
  {
    name: "what a refused log still has open is not ended (LOG-4)",
    file: "hub/recovery/loading.ts",
    find: "    if (hasFailed) {",
    replace: "    if (hasFailed && false) {",
  },
  {
    name: "the log does not say how an input went (INP-5, REC-1)",
    file: "hub/turn/input.ts",
    find: "const went = mode === undefined ? {} : { mode };",
    replace: "const went = {};",
  },
  {
    name: "an event does not wait until its conversation is read (REC-7)",
    file: "hub/recovery/loading.ts",
    find: "return connection !== undefined && mayTouch(connection, scope);",
    replace: "return connection === undefined && mayTouch(connection!, scope);",
  },
  {
    name: "work goes on before the app says so (REC-4)",
    file: "hub/recovery/loading.ts",
    find: `if (how !== "wait") input(`,
    replace: `if (how !== "resume") input(`,
  },
  {
    name: "a reader that resumes is shown the entry of its cursor again (RPL-6)",
    file: "hub/readers/replay.ts",
    find: "const seen = after === from.order ? from.index : -1;",
    replace: "const seen = -1;",
  },
  {
    name: "a reader that comes too late is shown no snapshot (RPL-7)",
    file: "hub/readers/replay.ts",
    find: "if (!entry.gap) return events",
    replace: "if (true) return events",
  },
  {
    name: "what a turn has used of its budget is forgotten with the Hub (TRN-13)",
    file: "hub/recovery/recall.ts",
    find: `useTokens(conversations, conversation, tokensOf(event["usage"] as Usage | undefined));`,
    replace: "",
  },
];
