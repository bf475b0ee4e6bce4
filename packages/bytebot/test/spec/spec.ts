import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const root = join(import.meta.dirname, "../../../..");
export const text = readFileSync(join(root, "spec/WIRE.md"), "utf8");

/** The rules of the spec, in its order: each begins a paragraph with its id. */
export const rules = Array.from(text.matchAll(/^\*\*([A-Z]{3}-\d+)\*\* /gm), ([, id]) => id!);

/** The lines of the spec's examples. */
export const examples = Array.from(text.matchAll(/^```jsonl\n(.*?)^```$/gms), ([, lines]) => lines!)
  .flatMap((lines) => lines.split("\n"))
  .filter((line) => line !== "");

/** The cells of each row of the first table under this heading, its head left out. */
export function tableUnder(heading: string): string[][] {
  const section = text.slice(text.indexOf(`\n## ${heading}\n`) + 1).split(/\n## /)[0] ?? "";
  const rows = section.split("\n").filter((line) => line.startsWith("|"));
  return rows.slice(2).map((row) =>
    row
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

/** The names in backticks. */
export function names(cell: string): string[] {
  return Array.from(cell.matchAll(/`([^`]+)`/g), ([, name]) => name!);
}

export function read(...patterns: string[]): { file: string; source: string }[] {
  const files = globSync(patterns, { cwd: root, exclude: (name) => name === "node_modules" || name === "dist" });
  return files.toSorted().map((file) => ({ file, source: readFileSync(join(root, file), "utf8") }));
}
