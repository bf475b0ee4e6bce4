import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";

/** A folder of these files (text as it is, anything else as JSON), removed when the test ends. */
export async function folderOf(t: TestContext, files: Record<string, unknown>): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "bytebot-")));
  t.after(() => rm(folder, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) {
    const file = join(folder, name);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, typeof content === "string" ? content : JSON.stringify(content));
  }
  return folder;
}

export const stdio = (...command: string[]) => ({
  schema_version: 1,
  kind: "toolsource",
  entry: { type: "stdio", command },
});
export const inproc = (module: string) => ({ schema_version: 1, kind: "context", entry: { type: "inproc", module } });
