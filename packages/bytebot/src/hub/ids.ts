import { randomBytes } from "node:crypto";

const ID_BYTES = 10;
let random = "";

/** A random id with this prefix. Random bytes are fetched for many ids at once. */
export function randomId(prefix: string): string {
  if (random === "") random = randomBytes(100 * ID_BYTES).toString("hex");
  const id = random.slice(0, 2 * ID_BYTES);
  random = random.slice(2 * ID_BYTES);
  return `${prefix}_${id}`;
}
