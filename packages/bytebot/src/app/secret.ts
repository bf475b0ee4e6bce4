import { randomBytes } from "node:crypto";
import { digestOf } from "../transport/index.ts";

/** 256 random bits. */
export function secret(): string {
  return randomBytes(32).toString("base64url");
}

/** All that is kept of a secret. */
export function digest(text: string): string {
  return digestOf(text).toString("hex");
}
