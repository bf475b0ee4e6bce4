import { BytebotError, isScope, toScope } from "../wire/index.ts";
import { shared } from "./ambient.ts";

const scopes = shared<string | undefined>("bytebot.scope");

/**
 * Runs `fn`, and all it awaits, in the scope of these segments, each encoded: no user id can become a path.
 * Throws BytebotError `invalid_params` where they make no scope.
 */
export function scoped<T>(id: string | string[], fn: () => T): T {
  return scopes.run(toScope(id), fn);
}

/** The scope this code runs in: of `scoped`, or of the event whose handler this is. */
export function currentScope(): string | undefined {
  return scopes.getStore();
}

/** Like `scoped`, with the scope as it stood in an event; undefined clears it, so that none is inherited by accident. */
export function inScope<T>(scope: string | undefined, fn: () => T): T {
  return scopes.run(scope, fn);
}

/** The scope meant by an argument where null stands for the current one. */
export function resolveScope(scope: string | null): string {
  const meant = scope ?? currentScope();
  if (meant === undefined) {
    throw new BytebotError(
      "invalid_params",
      "there is no current scope: pass one, or call this inside scoped(userId, () => …)",
    );
  }
  if (!isScope(meant)) {
    const shown = JSON.stringify(meant).slice(0, 80);
    throw new BytebotError(
      "invalid_params",
      `${shown} is no scope: make one of any text with scoped(id, …) or toScope(id)`,
    );
  }
  return meant;
}
