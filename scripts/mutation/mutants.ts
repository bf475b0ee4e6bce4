import { parsers } from "prettier/plugins/babel";

/** One change of a source text: what stands from `start` to `end` becomes `to`. */
export interface Mutant {
  start: number;
  end: number;
  to: string;
  line: number;
}

interface Node {
  type: string;
  start: number;
  end: number;
  [field: string]: unknown;
}

const SWAPS: Record<string, string[]> = {
  "<": ["<=", ">="],
  "<=": ["<", ">"],
  ">": [">=", "<="],
  ">=": [">", "<"],
  "===": ["!=="],
  "!==": ["==="],
  "+": ["-"],
  "-": ["+"],
  "*": ["/"],
  "/": ["*"],
  "&&": ["||"],
  "||": ["&&"],
  "??": ["&&"],
  "+=": ["-="],
  "-=": ["+="],
  "++": ["--"],
  "--": ["++"],
};
const METHODS: Record<string, string> = {
  some: "every",
  every: "some",
  startsWith: "endsWith",
  endsWith: "startsWith",
  min: "max",
  max: "min",
};
/** Nothing in here runs. */
const SKIPPED = /^(?:TS(?!AsExpression|NonNullExpression|SatisfiesExpression)|ImportDeclaration|ExportAllDeclaration)/;

/** Every mutant of this source: other operators, conditions, literals, methods and empty bodies. */
export async function mutantsOf(source: string): Promise<Mutant[]> {
  const ast = (await parsers["babel-ts"].parse(source, {} as never)) as unknown as { program: Node };
  const found: Mutant[] = [];
  const add = (start: number, end: number, to: string): void => {
    const line = source.slice(0, start).split("\n").length;
    if (source.slice(start, end) !== to) found.push({ start, end, to, line });
  };
  visit(ast.program, undefined, add, source);
  return found;
}

type Add = (start: number, end: number, to: string) => void;

function visit(node: Node, parent: Node | undefined, add: Add, source: string): void {
  if (SKIPPED.test(node.type)) return;
  mutate(node, parent, add, source);
  for (const [field, value] of Object.entries(node)) {
    if (field === "typeAnnotation" || field === "returnType" || field === "typeParameters") continue;
    for (const child of Array.isArray(value) ? (value as unknown[]) : [value])
      if (isNode(child)) visit(child, node, add, source);
  }
}

function mutate(node: Node, parent: Node | undefined, add: Add, source: string): void {
  const { type, start, end } = node;
  switch (type) {
    case "BinaryExpression":
    case "LogicalExpression":
    case "AssignmentExpression": {
      const [left, right] = [node["left"] as Node, node["right"] as Node];
      const operator = String(node["operator"]);
      const at = source.indexOf(operator, left.end);
      // Text is joined with "+": taking it away makes no other text, but NaN.
      for (const to of SWAPS[operator] ?? []) if (at < right.start) add(at, at + operator.length, to);
      return;
    }
    case "UpdateExpression": {
      const operator = String(node["operator"]);
      const at = node["prefix"] === true ? start : end - 2;
      return add(at, at + 2, SWAPS[operator]![0]!);
    }
    case "UnaryExpression":
      if (node["operator"] === "!" || node["operator"] === "-") add(start, start + 1, "");
      return;
    case "IfStatement":
    case "ConditionalExpression":
    case "WhileStatement":
    case "DoWhileStatement":
    case "ForStatement": {
      const test = node["test"] as Node | null;
      if (!test) return;
      add(test.start, test.end, "false");
      if (type === "IfStatement" || type === "ConditionalExpression") add(test.start, test.end, "true");
      return;
    }
    case "BlockStatement":
      if ((node["body"] as Node[]).length > 0) add(start, end, "{}");
      return;
    case "ArrowFunctionExpression": {
      const body = node["body"] as Node;
      if (body.type !== "BlockStatement") add(body.start, body.end, "undefined");
      return;
    }
    case "StringLiteral":
      if (parent && isName(node, parent)) return;
      return add(start, end, node["value"] === "" ? '"mutant"' : '""');
    case "TemplateLiteral":
      return add(start, end, "``");
    case "BooleanLiteral":
      return add(start, end, String(node["value"] !== true));
    case "ArrayExpression":
      if ((node["elements"] as Node[]).length > 0) add(start, end, "[]");
      return;
    case "ObjectExpression":
      if ((node["properties"] as Node[]).length > 0) add(start, end, "{}");
      return;
    case "MemberExpression":
    case "OptionalMemberExpression": {
      const property = node["property"] as Node;
      const other = node["computed"] === true ? undefined : METHODS[String(property["name"])];
      if (other !== undefined && parent?.type.endsWith("CallExpression") === true)
        add(property.start, property.end, other);
    }
  }
}

/** A string that names a member or a module is no value. */
function isName(node: Node, parent: Node): boolean {
  return (
    parent["key"] === node || parent["source"] === node || (parent["property"] === node && parent["computed"] === true)
  );
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && typeof (value as Node).type === "string";
}
