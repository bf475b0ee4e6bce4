import { z } from "zod";
import { defineTool } from "../../../src/sdk/index.ts";
import { calls, context, inferWith, says, toolsource, ui } from "../satellites.ts";
import { script } from "../script.ts";

const files = toolsource(() => [
  defineTool({
    name: "create-user-file",
    description: "Writes a file.",
    input: z.object({ path: z.string() }),
    run: ({ path }) => `${path}: 12 bytes written`,
  }),
]);

const shipIt = ui(async (person) => {
  await person.say("ship it");
  await person.isDone();
});

export const xmlTools = script({
  name: "xml-tools",
  about:
    "An infer without native tools, which writes its call as text: cut in the middle of a tag, and the UI sees a call as of any other.",
  cast: [
    context(),
    inferWith(
      { api_shape: "anthropic", tools: { xml: { dialect: "invoke" } } },
      says(
        "On it.\n<function_",
        'calls><invoke name="create-user-file"><parameter name="path">a.t',
        "xt</parameter></invoke></function_calls>",
      ),
      says("Done."),
    ),
    files,
    shipIt,
  ],
});

export const openaiShape = script({
  name: "openai-shape",
  about: "A context and an infer that take OpenAI's shape of messages: the same two rounds, converted by the Hub.",
  cast: [
    context(() => () => ({ system: "Be brief." }), { api_shape: "openai" }),
    inferWith({ api_shape: "openai" }, calls(["create-user-file", { path: "a.txt" }]), says("Done.")),
    files,
    shipIt,
  ],
});
