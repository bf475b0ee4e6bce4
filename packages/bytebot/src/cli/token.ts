import { askApp, type Running } from "../app/ask.ts";
import { tokenOfEnv } from "../app/places.ts";
import { kinds, type Event, type Kind, type TokenInfo } from "../wire/index.ts";
import { BytebotError, isPrincipal, isScope } from "../wire/index.ts";
import { parse, type Command } from "./command.ts";
import { isBytebotError, UsageError } from "./errors.ts";
import { printLine, report } from "./output.ts";
import { printable, printableJson } from "./printable.ts";
import { socketFolder, socketOf, sockets } from "./socket.ts";

const help = `usage: bytebot token <command> [options]

Tokens for those who dial into a running app: what they may touch, what they may be, and who they are. An app whose log is
on disk keeps them, as digests.

  mint            makes one, and prints it on stdout, this once
  list            those that there are
  revoke ID       takes one back: what came in with it, and the tokens that were made with it, end at once

  --scope SCOPE   mint: what its bearer may touch; may be repeated; "*" is everything
  --principal WHO mint: who its bearer is, as in kim@ops.example
  --name NAME     mint: the bearer's component id; without one, any number of components may come in with it
  --kind KIND     mint: ${kinds.join(", ")} (default: ui)
  --expires TIME  mint: how long it is good for, as in 45m, 12h, 30d (default: 30d), or never
  --role ROLE     mint: primary, controller, content (of telemetry) or vouches (for the people that it serves); repeated
  --no-answers    mint: it may not answer questions
  --pid N         the app of this process (default: the newest that runs)
  --socket PATH   the app that listens there
  --hub URL       an app that serves HTTP, with the token of a controller in BYTEBOT_TOKEN: one that nobody else has in
                  use, as the newest connection of a token takes the place of the one before
  --json          the answer as a JSON line

exit codes: 0 done, 1 it was refused, 2 the command line is wrong
`;

const options = {
  scope: { type: "string", multiple: true },
  principal: { type: "string" },
  name: { type: "string" },
  kind: { type: "string" },
  expires: { type: "string" },
  role: { type: "string", multiple: true },
  "no-answers": { type: "boolean" },
  pid: { type: "string" },
  socket: { type: "string" },
  hub: { type: "string" },
  json: { type: "boolean" },
} as const;

type Values = ReturnType<typeof parse<typeof options>>["values"];

const ROLES = ["primary", "controller", "content", "vouches"];
const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

export const command: Command = {
  help,
  async run(args) {
    const { values, positionals } = parse("token", args, options, 2);
    const [action, id] = positionals;
    const asked = toRequest(action, id, values);
    const answer = await ask(values, { event_type: "bb_token", ...asked });
    if (action === "mint") minted(answer, values);
    else if (action === "list") listed(answer["tokens"] as TokenInfo[], values);
    else if (values.json) printLine(printableJson(shown(answer)));
    else report(`${String(id)} is good for nothing any more`);
    return 0;
  },
};

function toRequest(action: string | undefined, id: string | undefined, values: Values): Record<string, unknown> {
  if (action === "mint" && id === undefined) return { action, ...toGrant(values) };
  if (action === "list" && id === undefined) return { action };
  if (action === "revoke" && id !== undefined && /^t_[0-9a-f]{16}$/.test(id)) return { action, token_id: id };
  if (action === "revoke")
    throw new UsageError("token", "revoke needs the id of a token, as bytebot token list has it");
  if (action === undefined) throw new UsageError("token", "a command is needed: mint, list or revoke");
  const known = action === "mint" || action === "list";
  const what = known ? `${JSON.stringify(id)} is one word too many` : `there is no command ${JSON.stringify(action)}`;
  throw new UsageError("token", known ? what : `${what}: mint, list, revoke`);
}

function toGrant(values: Values): { grant: Record<string, unknown>; expires_ms?: number } {
  const { scope: scopes, principal, name, kind = "ui", role: roles = [], expires = "30d" } = values;
  if (!scopes) throw new UsageError("token", `--scope is needed: what its bearer may touch; --scope "*" is everything`);
  const wrong = scopes.find((scope) => scope !== "*" && !isScope(scope));
  if (wrong !== undefined) throw new UsageError("token", `--scope ${JSON.stringify(wrong)} is no scope, as in u_7f3a`);
  if (!kinds.includes(kind as Kind)) throw new UsageError("token", `--kind is one of ${kinds.join(", ")}`);
  if (principal !== undefined && !isPrincipal(principal))
    throw new UsageError("token", "--principal is 1 to 128 printable characters");
  const unknown = roles.find((role) => !ROLES.includes(role));
  if (unknown !== undefined) throw new UsageError("token", `--role ${unknown}: there are ${ROLES.join(", ")}`);
  const grant = {
    ...{ kind, scopes },
    ...(name === undefined ? {} : { name }),
    ...(principal === undefined ? {} : { principal }),
    ...Object.fromEntries(roles.map((role) => [role, true])),
    ...(values["no-answers"] ? { input_capable: false } : {}),
  };
  return { grant, ...(expires === "never" ? {} : { expires_ms: toMs(expires) }) };
}

function toMs(text: string): number {
  const [, count, unit = ""] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (count === undefined || Number(count) === 0)
    throw new UsageError("token", `--expires ${JSON.stringify(text)} is no time, as in 45m, 12h or 30d, or never`);
  return Number(count) * UNITS[unit]!;
}

/** The app that was named, or the newest of this user's. */
async function ask({ hub, pid, socket }: Values, event: Event): Promise<Event> {
  if ([hub, pid, socket].filter((each) => each !== undefined).length > 1)
    throw new UsageError("token", "--hub, --pid and --socket name several apps");
  if (hub !== undefined) {
    if (!URL.canParse(hub)) throw new UsageError("token", `--hub ${JSON.stringify(hub)} is no URL`);
    return askApp({ url: hub, token: tokenOfEnv("BYTEBOT_TOKEN") }, event);
  }
  if (pid !== undefined && !/^\d+$/.test(pid)) throw new UsageError("token", `--pid ${pid} is no process id`);
  const named = socket ?? (pid === undefined ? undefined : socketOf(Number(pid)));
  if (named !== undefined) return askApp({ socket: named }, event);
  for (const path of await sockets()) {
    const where: Running = { socket: path };
    try {
      return await askApp(where, event);
    } catch (error) {
      // Left behind by an app that was killed: the next one may live.
      if (!isBytebotError(error) || error.code !== "unavailable") throw error;
    }
  }
  const fix = "start one with bytebot run, or name one with --hub";
  throw new BytebotError("unavailable", `no running app has its socket in ${socketFolder()}: ${fix}`);
}

/** The token alone on stdout, so that it can be piped to where it belongs. */
function minted(answer: Event, { json }: Values): void {
  if (json) return printLine(printableJson(shown(answer)));
  const { token, token_id, expires_at } = answer as { token?: string; token_id?: string; expires_at?: number };
  report(`${token_id}, good ${toUntil(expires_at)}; it is shown this once:`);
  printLine(String(token));
}

function listed(tokens: readonly TokenInfo[], { json }: Values): void {
  for (const info of tokens) printLine(json ? printableJson(info) : told(info));
}

function told({ token_id, grant, made_by, expires_at }: TokenInfo): string {
  const { name = "*", kind = "any", scopes = ["*"], principal } = grant;
  const roles = ROLES.filter((role) => grant[role as keyof typeof grant] === true);
  const parts = [token_id, name.padEnd(16), kind.padEnd(10), scopes.join(" ")];
  const more = [principal === undefined ? "" : `is ${principal}`, ...roles, toUntil(expires_at), `by ${made_by}`];
  return printable(`${parts.join("  ")}  ${more.filter((each) => each !== "").join(", ")}`);
}

function toUntil(at: number | undefined): string {
  return at === undefined ? "until it is revoked" : `until ${new Date(at).toISOString()}`;
}

/** Without what says only that it is an answer. */
function shown(answer: Event): object {
  const { event_type: _, in_reply_to: __, success: ___, ts: ____, ...fields } = answer;
  return fields;
}
