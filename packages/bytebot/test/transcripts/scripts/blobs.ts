import { z } from "zod";
import { defineTool, type BlobBlock } from "../../../src/sdk/index.ts";
import { calls, context, infer, SCOPE, toolsource, ui } from "../satellites.ts";
import { script } from "../script.ts";

export const blob = script({
  name: "blob",
  about:
    "A picture that is kept first and then spoken of, which the infer reads; and a result too large to show, whose whole the UI reads.",
  app: { limits: { resultBytes: 64 } },
  cast: [
    context(),
    infer(calls(["read", { path: "long.txt" }]), async ({ messages, scope }, reply, { satellite }) => {
      const { ref } = messages[0]!.content.find(({ type }) => type === "blob") as BlobBlock;
      const { mimeType, bytes } = await satellite.getBlob(scope, ref);
      reply.text(`It is ${mimeType}, ${bytes.length} bytes.`);
      return { stop_reason: "end_turn" };
    }),
    toolsource(() => [
      defineTool({
        name: "read",
        input: z.object({ path: z.string() }),
        run: ({ path }) => `${path} `.repeat(16),
      }),
    ]),
    ui(async (person) => {
      const { satellite } = person;
      const picture = await satellite.putBlob(SCOPE, Buffer.from("hello world"), {
        mimeType: "image/png",
        name: "shot.png",
      });
      await satellite.sendUserEvent(SCOPE, [{ type: "text", text: "what is this?" }, picture]);
      const { content } = await person.sees("tool_result");
      await person.isDone();
      await satellite.getBlob(SCOPE, (content!.find(({ type }) => type === "blob") as BlobBlock).ref);
    }),
  ],
});
