import type { Block, ModelTool } from "bytebot/sdk";
import { dialectNames, dialects, XmlParser } from "bytebot/wire";
import { z } from "zod";
import type { Answer } from "../answer.ts";
import { Inapplicable, Unmet, type Check } from "../check.ts";
import { toDialect } from "../as-text.ts";
import type { Exam } from "../exam.ts";
import { assistant, option, quoted, user } from "../messages.ts";

const Light = z.strictObject({ room: z.enum(["kitchen", "bath", "garden"]), on: z.boolean() });

const light: ModelTool = {
  name: "set_light",
  description:
    'Turns the light of a room on or off. Examples: "Turn on the light in the bath" = {"room":"bath","on":true}; "No light in the garden please" = {"room":"garden","on":false}',
  input_schema: z.toJSONSchema(Light),
};
const QUESTION = "Call set_light: turn on the light in the kitchen.";

export const toolChecks: Check[] = [
  {
    name: "tool_call",
    title: "A tool that it has to call is called, with arguments that fit",
    run: async (exam) => {
      const way = wayOf(exam);
      if (way === "none") throw new Inapplicable("no tools are announced (capabilities.tools is {})");
      const asked = user(QUESTION);
      const answer = await exam.ask({ messages: [asked], tools: [light], tool_choice: { type: "any" } });
      const [call, ...more] = answer.of("tool_use");
      if (!call) throw noCall(exam, answer);
      if (call["malformed"] !== undefined) {
        const { malformed, reason } = call as { malformed?: string; reason?: string };
        const got = `${quoted(malformed ?? "")}${reason === undefined ? "" : `: ${reason}`}`;
        throw new Unmet("a call that can be read", got, otherWay(exam, answer));
      }
      if (call["name"] !== light.name)
        throw new Unmet(`a call of ${light.name}`, `one of ${String(call["name"])}`, otherWay(exam, answer));
      const input = Light.safeParse(call["input"]);
      if (!input.success) {
        const [issue] = input.error.issues;
        const got = `${JSON.stringify(call["input"]).slice(0, 200)} (${issue?.path.join(".")}: ${issue?.message})`;
        throw new Unmet("arguments of the tool's schema", got, otherWay(exam, answer));
      }
      // Of several, that one: the last may have been cut.
      const kept = answer.blocks.filter((block) => block.type !== "tool_use" || block === call);
      exam.called = [asked, assistant(kept.map(asInHistory))];
      return `${light.name} ${JSON.stringify(call["input"])}, ${way}${more.length > 0 ? `, and ${more.length} more` : ""}`;
    },
  },
  {
    name: "tool_result",
    title: "It takes the result of a call",
    run: async (exam) => {
      if (!exam.called) throw new Inapplicable("there is no call whose result could be sent (tool_call)");
      const results = (exam.called[1]?.content ?? [])
        .filter(({ type }) => type === "tool_use")
        .map(({ id }): Block => ({
          type: "tool_result",
          tool_use_id: String(id),
          content: [{ type: "text", text: "The light is on now." }],
        }));
      const { said } = await exam.ask({ messages: [...exam.called, user(...results)], tools: [light] });
      return said.trim() === "" ? undefined : quoted(said.trim(), 40);
    },
  },
];

function wayOf({ capabilities }: Exam): string {
  const tools = capabilities["tools"] as { native?: unknown } | undefined;
  if (tools === undefined || tools.native !== undefined) return "native";
  const dialect = toDialect(tools);
  return dialect ? `as text, dialect ${dialectNames.find((name) => dialects[name] === dialect)}` : "none";
}

/** As the Hub keeps a call: under an id of the Hub's, beside the provider's own. */
function asInHistory(block: Block, index: number): Block {
  if (block.type !== "tool_use") return block;
  return { ...block, id: `c_${index}`, ...(block["id"] === undefined ? {} : { alias: block["id"] }) };
}

function noCall(exam: Exam, answer: Answer): Unmet {
  const said = answer.said.trim();
  const got = said === "" ? `none, and stop reason ${answer.end?.stop_reason}` : `none, but ${quoted(said, 120)}`;
  return new Unmet(`a call of ${light.name}`, got, otherWay(exam, answer));
}

/** What to announce instead: the dialect that the text is in, else the way that was not tried. */
function otherWay(exam: Exam, { said }: Answer): string {
  const written = dialectNames.find((name) => {
    const parser = new XmlParser(dialects[name], [light]);
    return [...parser.push(said), ...parser.end()].some(({ type }) => type === "complete");
  });
  if (written) return `it writes calls as text: set ${option("tools", { xml: { dialect: written } })}`;
  const text = toDialect(exam.capabilities["tools"]);
  if (text)
    return `if the server takes tools, set ${option("tools", "native")}; else another dialect or a larger model, or, for none, ${option("capabilities", { tools: {} })}`;
  return `have tools written as text: ${option("tools", { xml: { dialect: "invoke" } })}; for none: ${option("capabilities", { tools: {} })}`;
}
