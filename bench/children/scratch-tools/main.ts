/** The echo tool. */
import * as bb from "bytebot/sdk";
import { z } from "zod";

await bb.run(async () => {
  const source = await bb.sync({ kind: "toolsource" });
  const echo = { name: "echo", description: "Says it again", input: z.object({ text: z.string() }) };
  source.tool(bb.defineTool({ ...echo, run: ({ text }) => text }));
  await source.start();
});
