import { parsers } from "prettier/plugins/babel";

/**
 * One way out of a decision. `if` and `?:` have two (an `if` without `else`, too), each right-hand side of `&&`, `||` and
 * `??` has two (it is looked at, or it is not), `switch` has one for each case with code of its own, a loop and a `catch`
 * have one (they are entered). It is taken as often as what stands at `at` runs, less what stands at `less`.
 *
 * V8 counts neither `?.` and `??=` nor default values, so those are none here.
 */
export interface Branch {
  line: number;
  what: string;
  at: number;
  less?: number;
}

/** What of a source can run: its branches, and where its statements begin. */
export interface Runnable {
  branches: Branch[];
  statements: { line: number; at: number }[];
}

interface Node {
  type: string;
  start: number;
  end: number;
  loc: { start: { line: number } };
  [field: string]: unknown;
}

/** Nothing in here runs. */
const TYPES = /^(?:TS(?!AsExpression|NonNullExpression|SatisfiesExpression)|ImportDeclaration|ExportAllDeclaration)/;
const NO_STATEMENT = /^(?:BlockStatement|FunctionDeclaration|EmptyStatement|Class|Export)/;

export async function runnableOf(source: string): Promise<Runnable> {
  const { program } = (await parsers["babel-ts"].parse(source, {} as never)) as unknown as { program: Node };
  const found: Runnable = { branches: [], statements: [] };
  visit(program, found);
  return found;
}

function visit(node: Node, found: Runnable): void {
  if (TYPES.test(node.type) || node["declare"] === true || node["exportKind"] === "type") return;
  if (/(?:Statement|Declaration)$/.test(node.type) && !NO_STATEMENT.test(node.type))
    found.statements.push({ line: node.loc.start.line, at: node.start });
  branchesOf(node, found.branches);
  for (const value of Object.values(node))
    for (const child of Array.isArray(value) ? (value as unknown[]) : [value]) if (isNode(child)) visit(child, found);
}

function branchesOf(node: Node, branches: Branch[]): void {
  const add = (what: string, of: Node, at: number, less?: number): void =>
    void branches.push({ line: of.loc.start.line, what, at, ...(less === undefined ? {} : { less }) });
  const part = (name: string): Node | null => (node[name] ?? null) as Node | null;
  switch (node.type) {
    case "IfStatement":
    case "ConditionalExpression": {
      const yes = part("consequent")!;
      const no = part("alternate");
      add("true", yes, yes.start);
      if (no) add("false", no, no.start);
      else add("false", node, node.start, yes.start);
      return;
    }
    case "LogicalExpression": {
      const right = part("right")!;
      add(`right of ${String(node["operator"])}`, right, right.start);
      add(`left of ${String(node["operator"])}`, right, decidedAt(node), right.start);
      return;
    }
    case "SwitchStatement": {
      for (const each of node["cases"] as Node[]) {
        const first = (each["consequent"] as Node[])[0];
        if (first) add("case", each, first.start);
      }
      return;
    }
    case "ForStatement":
    case "ForInStatement":
    case "ForOfStatement":
    case "WhileStatement":
    case "CatchClause": {
      const body = part("body")!;
      add(node.type === "CatchClause" ? "catch" : "loop", node, body.start);
    }
  }
}

/** Where `a && b && c` gets to `c` or not: at `b`. */
function decidedAt(node: Node): number {
  const left = node["left"] as Node;
  return left.type === "LogicalExpression" && left["operator"] === node["operator"]
    ? (left["right"] as Node).start
    : node.start;
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && typeof (value as Node).type === "string" && "loc" in value;
}
