import * as bb from "bytebot/sdk";
import { z } from "zod";

/** A toolsource: it takes texts in, and finds the passages that speak of something. */
export async function main() {
  // What one scope took in, another never sees.
  const shelves = new Map<string, Map<string, string[]>>();
  const shelfOf = (scope: string) => shelves.get(scope) ?? new Map<string, string[]>();
  const satellite = await bb.sync({ kind: "toolsource", name: "ingest" });

  satellite.tool(
    bb.defineTool({
      name: "ingest",
      description: "Takes a text in, so that it can be searched.",
      input: z.object({ name: z.string(), text: z.string() }),
      annotations: { idempotent: true },
      run: ({ name, text }, call) => {
        const passages = text.split(/\n\s*\n/).filter((passage) => passage.trim() !== "");
        call.progress(`${passages.length} passages`, 1);
        shelves.set(call.scope, shelfOf(call.scope).set(name, passages));
        return `${name} is in, ${passages.length} passages`;
      },
    }),
  );

  satellite.tool(
    bb.defineTool({
      name: "search",
      description: "Finds the passages that have all of these words.",
      input: z.object({ words: z.string() }),
      annotations: { read_only: true },
      run: ({ words }, call) => {
        const wanted = words.toLowerCase().split(/\s+/);
        const found = [...shelfOf(call.scope)].flatMap(([name, passages]) =>
          passages
            .filter((passage) => wanted.every((word) => passage.toLowerCase().includes(word)))
            .map((passage) => ({ name, passage })),
        );
        return { found };
      },
    }),
  );

  await satellite.start();
}

await bb.run(main);
