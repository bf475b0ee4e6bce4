import { BytebotError, PolicyRule, toPath, whyUnusable } from "../../wire/index.ts";
import type { Tool } from "../state.ts";
import { Arguments, TOO_LONG, type Place } from "./arguments.ts";
import { Glob } from "./glob.ts";
import { idOf } from "./tools.ts";

const SLASH = "/".charCodeAt(0);

export type Decision = PolicyRule["decision"];

/** What the policy says of a call: `rule` is the one that decided, undefined where none matched. */
export interface Ruling {
  decision: Decision;
  rule: PolicyRule | undefined;
}

/** What a ruling is about. */
export interface Asked {
  tool: Tool;
  modelName: string;
  scope: string;
  input: unknown;
  /** It came from a place that the app's author does not control. */
  askFirst: boolean;
}

/** A rule, read once. */
interface Compiled {
  rule: PolicyRule;
  tool: Glob;
  component: Glob | undefined;
  input: readonly { place: Place; value: Glob }[];
}

/** The rules of an app, read once. Throws `invalid_params` where one of them can not be used (rule POL-3). */
export class Policy {
  /** The last of the list first. */
  private readonly rules: readonly Compiled[];
  private readonly places = new Map<string, Place>();
  /** The rules that are about a tool, by its name for the model: they are the same for each of its calls. */
  private readonly about = new WeakMap<Tool, Map<string, readonly Compiled[]>>();

  constructor(rules: readonly PolicyRule[]) {
    this.rules = rules.map((rule, at) => this.compile(rule, at)).reverse();
  }

  /**
   * The last rule that matches decides. Without one: ask for what calls itself destructive, or came from elsewhere, else
   * allow (rule POL-1). A tool's own word never relaxes anything. What can not be compared is not allowed (rule POL-5).
   */
  decide({ tool, modelName, scope, input, askFirst }: Asked): Ruling {
    const given = new Arguments(input);
    for (const compiled of this.rulesOf(tool, modelName)) {
      const { rule } = compiled;
      const outcome = matches(compiled, scope, given);
      if (outcome === "yes") return { decision: rule.decision, rule };
      if (outcome === "perhaps" && rule.decision !== "allow") return { decision: "deny", rule };
    }
    const decision = askFirst || tool.definition.annotations?.destructive === true ? "ask" : "allow";
    return { decision, rule: undefined };
  }

  private rulesOf(tool: Tool, modelName: string): readonly Compiled[] {
    let byName = this.about.get(tool);
    if (!byName) this.about.set(tool, (byName = new Map()));
    let rules = byName.get(modelName);
    if (rules) return rules;
    const names = [tool.definition.name, modelName, idOf(tool)];
    rules = this.rules.filter(
      ({ tool: pattern, component }) =>
        names.some((name) => pattern.matches(name)) && (component?.matches(tool.componentId) ?? true),
    );
    byName.set(modelName, rules);
    return rules;
  }

  private compile(given: PolicyRule, at: number): Compiled {
    const parsed = PolicyRule.safeParse(given);
    const issue = parsed.error?.issues[0];
    const why = issue ? `"${issue.path.map(String).join(".")}": ${issue.message}` : whyUnusable(given);
    if (why !== undefined)
      throw new BytebotError("invalid_params", `rule ${at + 1} of the policy: ${why}; the rules stay as they were`);
    const rule = parsed.data!;
    const { tool, component, input = {} } = rule;
    return {
      rule,
      tool: new Glob(tool),
      component: component === undefined ? undefined : new Glob(component),
      input: Object.entries(input).map(([pointer, value]) => ({
        place: this.placeOf(pointer),
        value: new Glob(value),
      })),
    };
  }

  private placeOf(pointer: string): Place {
    const place = this.places.get(pointer) ?? { number: this.places.size, path: toPath(pointer)! };
    this.places.set(pointer, place);
    return place;
  }
}

/** As `encloses`, for many rules: both are scopes, so that what encloses one is how it begins. */
export function isWithin(outer: string, scope: string): boolean {
  if (outer === "*") return true;
  return scope.startsWith(outer) && (scope.length === outer.length || scope.charCodeAt(outer.length) === SLASH);
}

type Outcome = "yes" | "no" | "perhaps";

function matches({ rule, input }: Compiled, scope: string, given: Arguments): Outcome {
  if (rule.scope !== undefined && !isWithin(rule.scope, scope)) return "no";
  let outcome: Outcome = "yes";
  for (const { place, value } of input) {
    const text = given.textAt(place);
    if (text === undefined) return "no";
    if (text === TOO_LONG || (value.searches && !given.mayRead(text.length))) outcome = "perhaps";
    else if (!value.matches(text)) return "no";
  }
  return outcome;
}
