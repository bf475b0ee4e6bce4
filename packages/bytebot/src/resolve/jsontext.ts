const SPACE = /[ \t\r\n]*/y;
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const SCALAR = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])/y;

/**
 * Where text stops being JSON: the index of the first token that does not fit, its length where the text ends too early
 * or is JSON. The engine's own message does not always say.
 */
export function jsonErrorAt(text: string): number {
  const open: ("{" | "[")[] = [];
  let at = 0;
  let expected: "value" | "value or end" | "key" | "key or end" | "after" = "value";

  const skip = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    if (!pattern.test(text)) return false;
    at = pattern.lastIndex;
    return true;
  };
  const token = (char: string): boolean => {
    if (text[at] !== char) return false;
    at++;
    return true;
  };

  for (;;) {
    skip(SPACE);
    if (at >= text.length) return text.length;
    if (expected === "after") {
      const inside = open.at(-1);
      if (inside && token(",")) expected = inside === "{" ? "key" : "value";
      else if (inside && token(inside === "{" ? "}" : "]")) open.pop();
      else return at;
    } else if (expected === "key" || expected === "key or end") {
      if (expected === "key or end" && token("}")) {
        open.pop();
        expected = "after";
        continue;
      }
      if (!skip(STRING)) return at;
      skip(SPACE);
      if (!token(":")) return at;
      expected = "value";
    } else if (expected === "value or end" && token("]")) {
      open.pop();
      expected = "after";
    } else if (token("{")) {
      open.push("{");
      expected = "key or end";
    } else if (token("[")) {
      open.push("[");
      expected = "value or end";
    } else if (skip(STRING) || skip(SCALAR)) expected = "after";
    else return at;
  }
}
