/** Tools as text, for models that have none of their own: written by `write`, read back by the parser. */
import { dialectNames, type Dialect, type DialectName } from "./dialect.ts";
import { hermes } from "./hermes.ts";
import { invoke } from "./invoke.ts";
import { qwen } from "./qwen.ts";

export const dialects: Readonly<Record<DialectName, Dialect>> = { invoke, hermes, qwen };
export { dialectNames, type Dialect, type DialectName };
export { XmlParser, type XmlEvent } from "./parser.ts";
export { writeMessages, writeSystem } from "./write.ts";
