import { BytebotError } from "bytebot/sdk";

const MOST_CHARACTERS = 1000;
/** Of parentheses and signs inside each other: an expression must not exhaust the stack. */
const MOST_NESTED = 100;

const TOKEN = /\s*(?:(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)|(\*\*|[-+*/%^(),×÷−]))/y;
const SAME = new Map([
  ["**", "^"],
  ["×", "*"],
  ["÷", "/"],
  ["−", "-"],
]);

const CONSTANTS = new Map([
  ["pi", Math.PI],
  ["e", Math.E],
]);
/** Name → function, and how many arguments it takes; Infinity: one or more. */
const FUNCTIONS = new Map<string, [(...values: number[]) => number, number]>([
  ["sqrt", [Math.sqrt, 1]],
  ["abs", [Math.abs, 1]],
  ["round", [Math.round, 1]],
  ["floor", [Math.floor, 1]],
  ["ceil", [Math.ceil, 1]],
  ["min", [Math.min, Infinity]],
  ["max", [Math.max, Infinity]],
]);

/**
 * The value of an arithmetic expression: + - * / % ^ (from the right), signs, parentheses, functions and constants.
 * Throws BytebotError `invalid_params`, in words for the model, for what is none or has no finite value.
 */
export function evaluate(expression: string): number {
  if (expression.length > MOST_CHARACTERS) throw wrong(`an expression may have ${MOST_CHARACTERS} characters`);
  const parser = new Parser(tokenize(expression));
  const value = parser.sum(0);
  parser.expectEnd();
  if (Number.isNaN(value)) throw wrong(`${expression} has no value in real numbers`);
  if (!Number.isFinite(value)) throw wrong(`${expression} divides by zero, or is too large a number`);
  return value;
}

type Token = { type: "number"; value: number } | { type: "name" | "sign"; text: string };

function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < text.trimEnd().length; at = TOKEN.lastIndex) {
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(text);
    if (!match) {
      const left = JSON.stringify(text.slice(at).trim().slice(0, 20));
      throw wrong(`${left} cannot be read: write numbers without separators, and + - * / % ^ ( )`);
    }
    const [, number, name, sign = ""] = match;
    if (number !== undefined) tokens.push({ type: "number", value: Number(number) });
    else if (name !== undefined) tokens.push({ type: "name", text: name.toLowerCase() });
    else tokens.push({ type: "sign", text: SAME.get(sign) ?? sign });
  }
  return tokens;
}

/** By recursive descent, one method a level: what binds weakest comes first. */
class Parser {
  private readonly tokens: readonly Token[];
  private at = 0;

  constructor(tokens: readonly Token[]) {
    this.tokens = tokens;
  }

  sum(depth: number): number {
    if (depth > MOST_NESTED) throw wrong(`an expression may be ${MOST_NESTED} levels deep`);
    let value = this.product(depth);
    for (;;) {
      if (this.take("+")) value += this.product(depth);
      else if (this.take("-")) value -= this.product(depth);
      else return value;
    }
  }

  expectEnd(): void {
    if (this.at < this.tokens.length) throw wrong(`an operator is missing before ${this.shown()}`);
  }

  private product(depth: number): number {
    let value = this.signed(depth);
    for (;;) {
      if (this.take("*")) value *= this.signed(depth);
      else if (this.take("/")) value /= this.signed(depth);
      else if (this.take("%")) value %= this.signed(depth);
      else return value;
    }
  }

  /** A sign binds weaker than a power, as in mathematics: -2^2 is -4. */
  private signed(depth: number): number {
    if (depth > MOST_NESTED) throw wrong(`an expression may be ${MOST_NESTED} levels deep`);
    if (this.take("-")) return -this.signed(depth + 1);
    if (this.take("+")) return this.signed(depth + 1);
    const base = this.atom(depth);
    return this.take("^") ? base ** this.signed(depth + 1) : base;
  }

  private atom(depth: number): number {
    if (this.take("(")) return this.closed(this.sum(depth + 1));
    const token = this.tokens[this.at];
    if (token?.type === "number") {
      this.at++;
      return token.value;
    }
    if (token?.type !== "name") throw wrong(`a number is missing ${token ? `before ${this.shown()}` : "at the end"}`);
    this.at++;
    const constant = CONSTANTS.get(token.text);
    if (constant !== undefined) return constant;
    return this.call(token.text, depth);
  }

  private call(name: string, depth: number): number {
    const known = FUNCTIONS.get(name);
    if (!known) {
      throw wrong(`"${name}" is not known: there are ${[...FUNCTIONS.keys(), ...CONSTANTS.keys()].join(", ")}`);
    }
    const [apply, most] = known;
    if (!this.take("(")) throw wrong(`${name} needs its argument in parentheses, as in ${name}(9)`);
    const values = [this.sum(depth + 1)];
    while (this.take(",")) values.push(this.sum(depth + 1));
    if (values.length > most) throw wrong(`${name} takes ${most} argument, not ${values.length}`);
    return this.closed(apply(...values));
  }

  private closed(value: number): number {
    if (!this.take(")")) throw wrong(`a ")" is missing`);
    return value;
  }

  private take(sign: string): boolean {
    const token = this.tokens[this.at];
    if (token?.type !== "sign" || token.text !== sign) return false;
    this.at++;
    return true;
  }

  private shown(): string {
    const token = this.tokens[this.at];
    return JSON.stringify(token?.type === "number" ? String(token.value) : (token?.text ?? ""));
  }
}

function wrong(message: string): BytebotError {
  return new BytebotError("invalid_params", message);
}
