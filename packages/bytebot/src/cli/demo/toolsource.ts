import { z } from "zod";
import * as bb from "../../sdk/index.ts";

const MOST_FILES = 1000;

/** One tool that keeps files in memory, each scope its own. Options: `tool`, its name. */
export async function main({ opts, signal }: Parameters<bb.Main>[0]): Promise<void> {
  const files = new Map<string, Map<string, string>>();
  let count = 0;
  const satellite = await bb.sync({ kind: "toolsource", name: "files", controller: false, signal });
  satellite.tool(
    bb.defineTool({
      name: typeof opts["tool"] === "string" ? opts["tool"] : "create-user-file",
      description: "Creates a file for the person. The demo keeps it in memory.",
      input: z.object({ path: z.string(), content: z.string() }),
      run: ({ path, content }, { scope }) => {
        const own = files.get(scope) ?? new Map<string, string>();
        if (!own.has(path) && ++count > MOST_FILES)
          throw new bb.BytebotError("overloaded", `the demo keeps ${MOST_FILES} files`);
        files.set(scope, own.set(path, content));
        return `created ${path}, ${content.length} characters`;
      },
    }),
  );
  await satellite.start();
}
