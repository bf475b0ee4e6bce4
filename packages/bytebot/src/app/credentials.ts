import { offer, type Offer } from "../hub/index.ts";
import type { Kind } from "../wire/index.ts";
import { digest, secret } from "./secret.ts";
import { Tokens } from "./tokens.ts";

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
  /** A ui may answer questions; default true. */
  inputCapable?: boolean | undefined;
  /** Who its bearer is (rule PRN-2). */
  principal?: string | undefined;
  /** It serves several people, and says who they are; default false. */
  vouches?: boolean | undefined;
}

/** What the Hub offers to whoever came in under this grant. */
export function toOffer(componentId: string, grant: Grant): Offer {
  const { name, kind, scopes, primary = true, controller = false, content = false } = grant;
  const { inputCapable = true, principal, vouches = false } = grant;
  return offer({
    componentId,
    name: name === "" ? componentId : name,
    ...(kind === undefined ? {} : { kind }),
    ...(scopes === undefined ? {} : { scopes }),
    ...{ primary, controller, content, inputCapable, principal, vouches },
  });
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
  readonly tokens = new Tokens();
  private readonly codes = new Map<string, Timed>();
  private readonly sessions = new Map<string, Session>();

  /** A code that a browser changes into a session, once, within a minute. */
  addCode(grant: Grant): string {
    const code = secret();
    keep(this.codes, digest(code), { credential: { grant, many: true }, until: Date.now() + CODE_MS });
    return code;
  }

  /** Takes a code back, and the session that it has opened; what they were good for. */
  removeCode(code: string): Credential | undefined {
    const id = digest(code);
    const [secret, session] = [...this.sessions].find(([, { code: by }]) => by === id) ?? [];
    if (secret !== undefined) this.sessions.delete(secret);
    const waiting = this.codes.get(id);
    this.codes.delete(id);
    return (session ?? waiting)?.credential;
  }

  /** The session's own secret, for a cookie; undefined where the code is wrong, late or used. */
  redeem(code: string): string | undefined {
    const id = digest(code);
    const found = this.codes.get(id);
    this.codes.delete(id);
    if (!found || found.until < Date.now()) return undefined;
    const session = secret();
    keep(this.sessions, digest(session), { credential: found.credential, until: Date.now() + SESSION_MS, code: id });
    return session;
  }

  findSession(session: string | undefined): Credential | undefined {
    const found = session === undefined ? undefined : this.sessions.get(digest(session));
    return found && found.until >= Date.now() ? found.credential : undefined;
  }
}

function keep<Value>(map: Map<string, Value>, id: string, value: Value): void {
  map.set(id, value);
  const [oldest] = map.keys();
  if (map.size > MAX_KEPT && oldest !== undefined) map.delete(oldest);
}
