import { BytebotError, type TokenGrant } from "../wire/index.ts";
import { assertToken } from "../transport/index.ts";
import type { Credential, Grant } from "./credentials.ts";
import { toAppGrant } from "./minting.ts";
import { digest, secret } from "./secret.ts";

/** What made them, where that was the app itself: no component has this id. */
export const OWNER = "app";
/** Tokens that were minted: of all makers, and of one that is not the app itself, with all that were made with those. */
const MAX_MINTED = 10_000;
const MAX_OF_ONE = 1000;
/** Tokens that were made by tokens that were made by tokens. */
const MAX_DEPTH = 8;

/** A token that was minted: it is kept until it is revoked or over. Times in milliseconds since 1970. */
export interface Minted {
  digest: string;
  grant: TokenGrant;
  madeBy: string;
  madeAt: number;
  expiresAt?: number | undefined;
  /** The id of the token that its maker came in with: it is good as long as that one is. */
  parent?: string | undefined;
}

/** A token, told this once. */
export interface MintedToken {
  token: string;
  tokenId: string;
  /** Milliseconds since 1970; absent: it is good until it is revoked. */
  expiresAt?: number;
}

interface Known {
  digest: string;
  credential: Credential;
  minted?: Minted;
  /** It is good for nothing, and is here until that is kept: so it can be revoked again (rule TOK-3). */
  revoked?: true;
}

/** The tokens that let somebody dial in, by their ids: kept as digests, so that nothing here tells a token (rules HTP-11, TOK-2). */
export class Tokens {
  private readonly known = new Map<string, Known>();

  /** Adds a token of the app's own: a fresh one of 256 bits, or one that it has. Throws `invalid_params` where no header carries it. */
  add(grant: Grant, many: boolean, token = secret()): string {
    if (token === "") throw new BytebotError("invalid_params", "an empty token is none: leave it out for a fresh one");
    assertToken(token, grant.name === "" ? "the token" : `the token of "${grant.name}"`);
    const mark = digest(token);
    this.known.set(toId(mark), { digest: mark, credential: { grant, many } });
    return token;
  }

  /** Makes one. Throws `overloaded`. */
  mint(fields: Omit<Minted, "digest">): { token: string; id: string } {
    const all = this.minted();
    const { madeBy, parent } = fields;
    const origin = parent === undefined ? madeBy : this.originOf(parent);
    const same = origin === OWNER ? [] : all.filter(({ id }) => id !== origin && this.originOf(id) === origin);
    if (all.length >= MAX_MINTED || same.length >= MAX_OF_ONE || this.depthOf(parent) >= MAX_DEPTH)
      throw new BytebotError("overloaded", "there are too many tokens: revoke those that are of no more use");
    const token = secret();
    return { token, id: this.keep({ ...fields, digest: digest(token) }) };
  }

  /** One that was minted before, too. */
  keep(minted: Minted): string {
    const grant = toAppGrant(minted.grant);
    const id = toId(minted.digest);
    this.known.set(id, { digest: minted.digest, credential: { grant, many: grant.name === "" }, minted });
    return id;
  }

  minted(): { id: string; minted: Minted }[] {
    return [...this.known].flatMap(([id, { minted }]) => (minted ? [{ id, minted }] : []));
  }

  /** Whose token is this? The look-up is by digest: how long it takes says nothing about a token. */
  find(token: string | undefined): Credential | undefined {
    if (token === undefined) return undefined;
    const mark = digest(token);
    const found = this.known.get(toId(mark));
    return found?.digest === mark && this.isGood(found) ? found.credential : undefined;
  }

  /** The id of the token that this credential came with; undefined: with none, or it is good no more. */
  idOf(credential: Credential): string | undefined {
    for (const [id, known] of this.known) if (known.credential === credential && this.isGood(known)) return id;
    return undefined;
  }

  /** Until when a token is good, with all that it comes of; Infinity: until it is revoked. */
  until(id: string | undefined): number {
    const minted = this.known.get(id ?? "")?.minted;
    return minted ? Math.min(minted.expiresAt ?? Infinity, this.until(minted.parent)) : Infinity;
  }

  /** Takes a token of the app's own back; what it was good for, and all that was made with it. */
  remove(token: string): Credential[] {
    return this.revoke(toId(digest(token)));
  }

  /** Those that are to be kept, and those that are to be forgotten once these are. */
  toKeep(): { kept: Minted[]; gone: string[] } {
    const all = [...this.known];
    return {
      kept: all.flatMap(([, { minted, revoked }]) => (minted && !revoked ? [minted] : [])),
      gone: all.flatMap(([id, { revoked }]) => (revoked ? [id] : [])),
    };
  }

  forget(ids: readonly string[]): void {
    for (const id of ids) this.known.delete(id);
  }

  /**
   * Takes back the token of this id, and all that were made with it; what they were good for. One that was minted is listed
   * until it is forgotten.
   */
  revoke(id: string): Credential[] {
    const found = this.known.get(id);
    if (!found) return [];
    if (found.minted) found.revoked = true;
    else this.known.delete(id);
    const made = this.minted().filter(({ minted }) => minted.parent === id);
    return [found.credential, ...made.flatMap((each) => this.revoke(each.id))];
  }

  /** Forgets those that are over; what they were good for, and when the next one will be. */
  sweep(now: number): { ended: Credential[]; next: number } {
    const ended: Credential[] = [];
    let next = Infinity;
    for (const { id, minted } of this.minted()) {
      const { expiresAt = Infinity } = minted;
      if (expiresAt <= now) ended.push(...this.revoke(id));
      else next = Math.min(next, expiresAt);
    }
    return { ended, next };
  }

  /** It is not over, and all that it comes of is there: a token of the app's own may come again after a restart. */
  private isGood({ minted, revoked }: Known): boolean {
    if (revoked) return false;
    if (!minted) return true;
    if ((minted.expiresAt ?? Infinity) <= Date.now()) return false;
    if (minted.parent === undefined) return true;
    const parent = this.known.get(minted.parent);
    return parent !== undefined && this.isGood(parent);
  }

  /** Whose room it takes: the component's or the app's token that its line begins with, else what the app itself has minted. */
  private originOf(id: string): string {
    const minted = this.known.get(id)?.minted;
    if (!minted) return id;
    if (minted.parent !== undefined) return this.originOf(minted.parent);
    return minted.madeBy === OWNER ? id : minted.madeBy;
  }

  private depthOf(id: string | undefined): number {
    const minted = this.known.get(id ?? "")?.minted;
    return minted ? 1 + this.depthOf(minted.parent) : 0;
  }
}

/** Whoever reads it learns nothing of the token: that is 256 random bits, and this a part of their digest. */
function toId(mark: string): string {
  return `t_${mark.slice(0, 16)}`;
}
