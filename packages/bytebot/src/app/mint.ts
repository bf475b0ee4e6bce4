import type { Controller } from "../hub/index.ts";
import { BytebotError, type Event, type Token, type TokenInfo } from "../wire/index.ts";
import type { Credential } from "./credentials.ts";
import { grantFrom } from "./minting.ts";
import { TokenFile } from "./token-file.ts";
import { OWNER, type Minted, type Tokens } from "./tokens.ts";

/** The longest wait that a timer takes. */
const MAX_WAIT_MS = 24 * 3_600_000;

export interface MintOptions {
  tokens: Tokens;
  /** Where they are kept; undefined: with the app they end. */
  path: string | undefined;
  /** How a connection came in; undefined: the app attached it, or it is the app's own. */
  credentialOf: (connection: string) => Credential | undefined;
  /** It is good for nothing any more: what came in with it ends. */
  end: (credential: Credential, reason: string) => Promise<void>;
  report: (line: string) => void;
}

/** Makes, lists and takes back tokens for whoever may (rules TOK-1 to TOK-3), and ends what is over. */
export class Mint {
  private readonly options: MintOptions;
  private readonly file: TokenFile | undefined;
  private timer: NodeJS.Timeout | undefined;
  private state: "open" | "closed" = "open";

  constructor(options: MintOptions) {
    this.options = options;
    this.file = options.path === undefined ? undefined : new TokenFile(options.path);
  }

  /** Those of before. Rejects where their file is not as it should be. */
  async open(): Promise<void> {
    for (const minted of (await this.file?.read()) ?? []) this.options.tokens.keep(minted);
    await this.sweep();
  }

  close(): void {
    this.state = "closed";
    clearTimeout(this.timer);
  }

  /** Answers a `bb_token`. Throws BytebotError. */
  async answer(event: Token, asker: Controller): Promise<Event> {
    const result = { event_type: "bb_token_result", success: true };
    if (event.action === "mint") return { ...result, ...(await this.mint(event, asker)) };
    const own = this.of(asker);
    if (event.action === "list") return { ...result, tokens: own.map(({ id, minted }) => toInfo(id, minted)) };
    const found = own.find(({ id }) => id === event.token_id);
    if (!found) throw new BytebotError("not_found", `no token "${event.token_id ?? ""}": "list" has those there are`);
    await this.takeBack(this.options.tokens.revoke(found.id), "its token was revoked");
    this.options.report(`token ${found.id} (${nameOf(found.minted)}) was revoked by ${makerOf(asker)}`);
    return { ...result, token_id: found.id };
  }

  /** Ends what came in with these credentials, and keeps that they are good for nothing. Rejects where either fails. */
  async takeBack(credentials: readonly Credential[], reason: string): Promise<void> {
    const ending = Promise.all(credentials.map((each) => this.options.end(each, reason)));
    const [saved, ended] = await Promise.allSettled([this.save(), ending]);
    if (saved.status === "rejected") {
      const back = "the token is good for nothing until the app is started again, and then it may be good again";
      throw new BytebotError("unavailable", `${messageOf(saved.reason)}: ${back}; revoke it once more before that`, {
        cause: saved.reason,
      });
    }
    if (ended.status === "rejected") throw BytebotError.from(ended.reason);
  }

  private async mint({ grant: asked, expires_ms }: Token, asker: Controller): Promise<Omit<Event, "event_type">> {
    if (!asked) throw new BytebotError("invalid_params", `"grant" is missing: what the token lets its bearer be`);
    const { tokens, report } = this.options;
    const parent = this.parentOf(asker);
    const grant = grantFrom(asker.grant, asked);
    const madeAt = Date.now();
    const until = Math.min(madeAt + (expires_ms ?? Infinity), tokens.until(parent));
    const expires = until === Infinity ? {} : { expiresAt: until };
    const from = parent === undefined ? {} : { parent };
    const { token, id } = tokens.mint({ grant, madeBy: makerOf(asker), madeAt, ...expires, ...from });
    try {
      await this.save();
    } catch (error) {
      tokens.forget([id]);
      throw new BytebotError("unavailable", `${messageOf(error)}: no token was made`, { cause: error });
    }
    await this.sweep();
    report(`token ${id} (${grant.name ?? "any name"}) was made by ${makerOf(asker)}`);
    return { token, token_id: id, ...(until === Infinity ? {} : { expires_at: until }) };
  }

  /** The token it came in with, where it did. Throws where it came in some other way that ends by itself. */
  private parentOf({ connection }: Controller): string | undefined {
    const credential = this.options.credentialOf(connection);
    if (!credential) return undefined;
    const id = this.options.tokens.idOf(credential);
    if (id !== undefined) return id;
    throw new BytebotError("forbidden", "who came in by a browser's session makes no tokens: use one of its own");
  }

  /** The tokens that it may see: all, for who may touch all; else what it has made. */
  private of(asker: Controller): { id: string; minted: Minted }[] {
    const all = this.options.tokens.minted();
    if (asker.grant.scopes.includes("*")) return all;
    const parent = this.parentOf(asker);
    return all.filter(({ minted }) =>
      parent === undefined
        ? minted.parent === undefined && minted.madeBy === asker.componentId
        : minted.parent === parent,
    );
  }

  /** Ends what is over, and looks again when the next one is. */
  private async sweep(): Promise<void> {
    clearTimeout(this.timer);
    if (this.state === "closed") return;
    const { ended, next } = this.options.tokens.sweep(Date.now());
    if (next !== Infinity) {
      this.timer = setTimeout(() => void this.sweep(), Math.min(next - Date.now(), MAX_WAIT_MS));
      this.timer.unref();
    }
    if (ended.length === 0) return;
    try {
      await this.takeBack(ended, "its token is over");
    } catch (error) {
      this.options.report(`tokens that are over could not be put away: ${BytebotError.from(error).message}`);
    }
  }

  private async save(): Promise<void> {
    const { tokens } = this.options;
    let forgotten: readonly string[] = [];
    // What is revoked while this is being written is in the next that is.
    const toKeep = (): readonly Minted[] => {
      const { kept, gone } = tokens.toKeep();
      forgotten = gone;
      return kept;
    };
    if (this.file) await this.file.write(toKeep);
    else toKeep();
    tokens.forget(forgotten);
  }
}

/** Whoever asked may be far away: where the file is, is nothing to it. */
function messageOf(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  return `the app's file of tokens cannot be written (${code ?? BytebotError.from(error).message})`;
}

/** The app's own, whichever way it asks. */
function makerOf({ componentId, grant }: Controller): string {
  return grant.owner ? OWNER : componentId;
}

function toInfo(token_id: string, { grant, madeBy, madeAt, expiresAt }: Minted): TokenInfo {
  return {
    token_id,
    grant,
    made_by: madeBy,
    made_at: madeAt,
    ...(expiresAt === undefined ? {} : { expires_at: expiresAt }),
  };
}

function nameOf({ grant }: Minted): string {
  return grant.name ?? "any name";
}
