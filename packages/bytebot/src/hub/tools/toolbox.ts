import { createHash } from "node:crypto";
import { BytebotError, prefixesOf, widest } from "../../wire/index.ts";
import type { Tool } from "../state.ts";

/** Names that one registration may need: its tools, in each scope that its component was granted. */
const MAX_NAMES = 20_000;

interface Registered {
  scopes: readonly string[];
  tools: readonly Tool[];
}

/**
 * The tools that are registered, and what the model calls them. A tool has its name for each scope that its component was
 * granted, chosen beside those of components that serve all of that scope: they alone are met wherever it is. So nobody
 * learns from a name, or from a refusal, of what serves other scopes (rules TOL-1 and TOL-3).
 */
export class Toolbox {
  private readonly byComponent = new Map<string, Registered>();
  /** By granted scope, then by the name for the model. */
  private readonly names = new Map<string, Map<string, Tool>>();

  of(componentId: string): readonly Tool[] {
    return this.byComponent.get(componentId)?.tools ?? [];
  }

  /** Replaces the tools of a component, or throws and changes nothing. Answers the names in the first of its scopes. */
  replace(componentId: string, granted: readonly string[], tools: readonly Tool[]): string[] {
    const scopes = widest(granted);
    if (scopes.length * tools.length > MAX_NAMES) {
      const many = `${tools.length} tools for each of ${scopes.length} scopes`;
      throw new BytebotError(
        "too_large",
        `${many} are more than ${MAX_NAMES} names: ask for a scope that encloses them`,
      );
    }
    const wishes = tools.map(wishesOf);
    const chosen = scopes.map((scope) => this.choose(componentId, scope, tools, wishes));
    this.remove(componentId);
    this.byComponent.set(componentId, { scopes, tools });
    for (const [index, scope] of scopes.entries()) {
      const names = this.names.get(scope) ?? new Map<string, Tool>();
      for (const [name, tool] of chosen[index]!) names.set(name, tool);
      if (names.size > 0) this.names.set(scope, names);
    }
    // A grant of no scopes at all is met nowhere.
    return chosen[0] ? [...chosen[0].keys()] : wishes.map(([name]) => name!);
  }

  /** What is registered was named for these scopes: a component that has others now registers anew. */
  keepFor(componentId: string, granted: readonly string[]): void {
    const registered = this.byComponent.get(componentId);
    if (registered && widest(granted).join() !== registered.scopes.join()) this.remove(componentId);
  }

  remove(componentId: string): void {
    const registered = this.byComponent.get(componentId);
    if (!registered) return;
    this.byComponent.delete(componentId);
    for (const scope of registered.scopes) {
      const names = this.names.get(scope);
      for (const [name, tool] of names ?? []) if (tool.componentId === componentId) names!.delete(name);
      if (names?.size === 0) this.names.delete(scope);
    }
  }

  /**
   * All tools of a scope, by their names for the model there. A wider grant goes first: what a tenant registered before a
   * component of all tenants gives way in its own scope, and nowhere else is noticed.
   */
  in(scope: string): Map<string, Tool> {
    const all = new Map<string, Tool>();
    const displaced: Tool[] = [];
    for (const prefix of prefixesOf(scope)) {
      for (const [name, tool] of this.names.get(prefix) ?? []) {
        if (all.has(name)) displaced.push(tool);
        else all.set(name, tool);
      }
    }
    for (const tool of displaced)
      all.set(
        free(tool, wishesOf(tool), (name) => all.has(name)),
        tool,
      );
    return all;
  }

  get size(): number {
    return this.byComponent.size;
  }

  /** Its names in one of its scopes. */
  private choose(
    componentId: string,
    scope: string,
    tools: readonly Tool[],
    wishes: readonly (readonly string[])[],
  ): Map<string, Tool> {
    const beside = prefixesOf(scope).flatMap((prefix) => this.names.get(prefix) ?? []);
    const own = new Map<string, Tool>();
    const isTaken = (name: string): boolean =>
      own.has(name) || beside.some((names) => (names.get(name)?.componentId ?? componentId) !== componentId);
    for (const [index, tool] of tools.entries()) own.set(free(tool, wishes[index]!, isTaken), tool);
    return own;
  }
}

/** The plain name, and `component_name`. */
function wishesOf({ component, definition: { name } }: Tool): string[] {
  return [name, `${component}_${name}`].map((wish) => wish.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 64));
}

/** The first wish that is free, else `component_name_1f3a5b7d`: no component's names can keep another from having one. */
function free(tool: Tool, wishes: readonly string[], isTaken: (name: string) => boolean): string {
  for (const wish of wishes) if (!isTaken(wish)) return wish;
  for (let count = 0; ; count++) {
    const name = `${wishes.at(-1)!.slice(0, 55)}_${digest(`${tool.componentId}/${tool.definition.name}/${count}`)}`;
    if (!isTaken(name)) return name;
  }
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 8);
}
