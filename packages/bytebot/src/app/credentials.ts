import { randomBytes } from "node:crypto";
import { digestOf } from "../transport/index.ts";
import type { Kind } from "../wire/index.ts";

/** What a token, or a browser's session, lets its bearer be; `bb_sync` narrows it further (rule CON-3). */
export interface Grant {
  /** For people, and the component's id. */
  name: string;
  /** Absent: as its `bb_sync` says. */
  kind?: Kind | undefined;
  /** Absent: all. */
  scopes?: readonly string[] | undefined;
  primary?: boolean | undefined;
  /** Default false: the owner's events are given to nobody who dials in, unless said so. */
  controller?: boolean | undefined;
  /** Telemetry: message content too. */
  content?: boolean | undefined;
}

export interface Credential {
  readonly grant: Grant;
  /** One component, which its newest connection is; or many at once, each with an id of its own. */
  readonly many: boolean;
}

/** How long a one-time code waits for its browser, and the session that it opens lasts; milliseconds. */
const CODE_MS = 60_000;
export const SESSION_MS = 12 * 60 * 60_000;
/** Codes and sessions that are kept; the oldest goes first. */
const MAX_KEPT = 10_000;

interface Timed {
  credential: Credential;
  until: number;
}

interface Session extends Timed {
  /** The digest of the code that opened it. */
  code: string;
}

/** Who may dial in: kept as digests, so that nothing here tells a token (rule HTP-11). */
export class Credentials {
  private readonly tokens = new Map<string, Credential>();
  private readonly codes = new Map<string, Timed>();
  private readonly sessions = new Map<string, Session>();

  /** Adds a token: a fresh one of 256 bits, or one of the app's own. */
  add(grant: Grant, many: boolean, token = secret()): string {
    this.tokens.set(key(token), { grant, many });
    return token;
  }

  /** Takes a token back; what it was good for. */
  remove(token: string): Credential | undefined {
    const credential = this.tokens.get(key(token));
    this.tokens.delete(key(token));
    return credential;
  }

  /** Whose token is this? The look-up is by digest: how long it takes says nothing about a token. */
  find(token: string | undefined): Credential | undefined {
    return token === undefined ? undefined : this.tokens.get(key(token));
  }

  /** A code that a browser changes into a session, once, within a minute. */
  addCode(grant: Grant): string {
    const code = secret();
    keep(this.codes, key(code), { credential: { grant, many: true }, until: Date.now() + CODE_MS });
    return code;
  }

  /** Takes a code back, and the session that it has opened; what they were good for. */
  removeCode(code: string): Credential | undefined {
    const id = key(code);
    const [secret, session] = [...this.sessions].find(([, { code: by }]) => by === id) ?? [];
    if (secret !== undefined) this.sessions.delete(secret);
    const waiting = this.codes.get(id);
    this.codes.delete(id);
    return (session ?? waiting)?.credential;
  }

  /** The session's own secret, for a cookie; undefined where the code is wrong, late or used. */
  redeem(code: string): string | undefined {
    const id = key(code);
    const found = this.codes.get(id);
    this.codes.delete(id);
    if (!found || found.until < Date.now()) return undefined;
    const session = secret();
    keep(this.sessions, key(session), { credential: found.credential, until: Date.now() + SESSION_MS, code: id });
    return session;
  }

  findSession(session: string | undefined): Credential | undefined {
    const found = session === undefined ? undefined : this.sessions.get(key(session));
    return found && found.until >= Date.now() ? found.credential : undefined;
  }
}

function secret(): string {
  return randomBytes(32).toString("base64url");
}

function key(token: string): string {
  return digestOf(token).toString("hex");
}

function keep<Value>(map: Map<string, Value>, id: string, value: Value): void {
  map.set(id, value);
  const [oldest] = map.keys();
  if (map.size > MAX_KEPT && oldest !== undefined) map.delete(oldest);
}
