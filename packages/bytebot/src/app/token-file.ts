import { open, readFile, rename, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";
import { BytebotError, TokenGrant } from "../wire/index.ts";
import type { Minted } from "./tokens.ts";

/** Whoever may write it may make tokens. */
const WRITABLE_BY_OTHERS = 0o022;

const Id = z.string().regex(/^t_[0-9a-f]{16}$/);
const File = z.strictObject({
  schema_version: z.literal(1),
  tokens: z.array(
    z.strictObject({
      digest: z.string().regex(/^[0-9a-f]{64}$/),
      grant: TokenGrant,
      madeBy: z.string(),
      madeAt: z.number(),
      expiresAt: z.number().optional(),
      parent: Id.optional(),
    }),
  ),
});

/** The file of tokens that goes with a log's file. */
export function tokensBeside(file: string): string {
  return `${file}-tokens`;
}

/** Where an app keeps the tokens that were minted, beside its log: their digests, never a token (rule TOK-2). */
export class TokenFile {
  private readonly path: string;
  private writing: Promise<void> = Promise.resolve();
  private waiting: Promise<void> | undefined;

  constructor(path: string) {
    this.path = path;
  }

  /** What is in it; nothing where there is none. Rejects with what is wrong and the fix. */
  async read(): Promise<Minted[]> {
    const { path } = this;
    try {
      const { mode, uid } = await stat(path);
      const own = process.getuid?.();
      if (mode & WRITABLE_BY_OTHERS || (own !== undefined && uid !== own))
        throw new BytebotError("forbidden", `${path}: others could write it, and make tokens so: chmod 600 it`);
      return File.parse(JSON.parse(await readFile(path, "utf8"))).tokens;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
      if (error instanceof BytebotError) throw error;
      const why = error instanceof z.ZodError ? "it is none of this version" : BytebotError.from(error).message;
      throw new BytebotError(
        "invalid_params",
        `${path} cannot be read: ${why}; put it away, and all tokens that were made are good for nothing`,
        { cause: error },
      );
    }
  }

  /** Keeps these from here on: durable when it resolves. What is asked meanwhile is written once, together. */
  write(tokens: () => readonly Minted[]): Promise<void> {
    this.waiting ??= this.writing
      .catch(() => undefined)
      .then(() => {
        this.waiting = undefined;
        return (this.writing = this.replace(tokens()));
      });
    return this.waiting;
  }

  private async replace(tokens: readonly Minted[]): Promise<void> {
    const draft = `${this.path}.new`;
    const file = await open(draft, "w", 0o600);
    try {
      await file.chmod(0o600);
      await file.writeFile(`${JSON.stringify({ schema_version: 1, tokens })}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, this.path);
    // The new name is durable with its folder, where that can be opened.
    if (process.platform === "win32") return;
    const folder = await open(dirname(this.path), "r");
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  }
}
