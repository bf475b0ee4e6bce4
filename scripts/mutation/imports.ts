import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** The files below `folder` that import `file`, directly or through others: absolute paths. */
export function importersOf(file: string, folder: string): string[] {
  const importers = new Map<string, string[]>();
  for (const each of globSync("{src,test}/**/*.ts", { cwd: folder }).map((path) => join(folder, path))) {
    for (const [, specifier] of readFileSync(each, "utf8").matchAll(/\bfrom "(\.[^"]+\.ts)"/g)) {
      const imported = join(dirname(each), specifier!);
      importers.set(imported, [...(importers.get(imported) ?? []), each]);
    }
  }
  const found = new Set<string>();
  const left = [file];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    for (const importer of importers.get(next) ?? []) {
      if (found.has(importer)) continue;
      found.add(importer);
      left.push(importer);
    }
  }
  return [...found];
}
