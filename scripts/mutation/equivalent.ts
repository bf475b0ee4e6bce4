/** A change that no test can notice, and why. `code`: the line it is in; `to`: what it puts there. */
export interface Equivalent {
  file: string;
  code: string;
  from: string;
  to: string;
  why: string;
}

export const equivalents: readonly Equivalent[] = [
  {
    file: "wire/framer.ts",
    code: "if (this.size > 0) {",
    from: "this.size > 0",
    to: "true",
    why: "held or not, the first line is the same: only slower",
  },
  {
    file: "wire/framer.ts",
    code: "if (this.size > 0) {",
    from: ">",
    to: ">=",
    why: "held or not, the first line is the same: only slower",
  },
  {
    file: "wire/framer.ts",
    code: "if (end > start) this.split(chunk.subarray(start, end), sink);",
    from: "end > start",
    to: "true",
    why: "no lines are in nothing",
  },
  {
    file: "wire/framer.ts",
    code: "if (end > start) this.split(chunk.subarray(start, end), sink);",
    from: ">",
    to: ">=",
    why: "no lines are in nothing",
  },
  {
    file: "wire/framer.ts",
    code: "if (end < chunk.length) this.hold(chunk.subarray(end));",
    from: "end < chunk.length",
    to: "true",
    why: "nothing is held",
  },
  {
    file: "wire/framer.ts",
    code: "if (end < chunk.length) this.hold(chunk.subarray(end));",
    from: "<",
    to: "<=",
    why: "nothing is held",
  },
  {
    file: "wire/framer.ts",
    code: "const text = lines.length <= this.limit ? asText(lines) : undefined;",
    from: "lines.length <= this.limit",
    to: "false",
    why: "one by one the lines are the same: only slower",
  },
  {
    file: "wire/framer.ts",
    code: "const text = lines.length <= this.limit ? asText(lines) : undefined;",
    from: "<=",
    to: "<",
    why: "one by one the lines are the same: only slower",
  },
  {
    file: "wire/framer.ts",
    code: "if (text === undefined) {",
    from: "text === undefined",
    to: "true",
    why: "one by one the lines are the same: only slower",
  },
  {
    file: "wire/framer.ts",
    code: "const line = text.slice(start, text.charCodeAt(at - 1) === RETURN && at > start ? at - 1 : at);",
    from: ">",
    to: ">=",
    why: "before an empty line stands the newline of the one before",
  },
  {
    file: "wire/framer.ts",
    code: "if (this.size > this.held.length) {",
    from: ">",
    to: ">=",
    why: "the room is made anew: only slower",
  },
];
