import type { Event, Message } from "../wire/index.ts";
import { Inapplicable, Unmet, type Check } from "./check.ts";
import type { Peer } from "./peer.ts";
import { answersOnce, apart, cancelled } from "./requests.ts";
import type { Stage } from "./stage.ts";
import { nameOf, offered } from "./work.ts";

const common = { kinds: ["context"] as const, needs: "answer" as const };

export const contextChecks: Check[] = [
  {
    rule: "TRN-3",
    title: "It answers a render within 30 s",
    kinds: ["context"],
    gate: "answer",
    fix: 'on bb_context_render_request send bb_context_render_result with "in_reply_to": its id and "success"',
    run: async (stage) => {
      const peer = await stage.attach();
      const work = await stage.work(peer);
      peer.send(work.event);
      await stage.answer(peer, work, Math.min(stage.within("context"), 30_000));
    },
  },
  { ...common, ...answersOnce },
  { ...common, ...apart },
  { ...common, ...cancelled },
  {
    ...common,
    rule: "TRN-2",
    title: "The tools it names are among those it was offered",
    fix: "take the names from the request's tools, also where there are none",
    run: async (stage) => {
      const peer = await stage.attach();
      for (const tools of [offered, offered.slice(0, 1), []]) {
        const result = await rendered(stage, peer, { tools });
        const names = ((result["tools"] ?? []) as unknown[]).map(nameOf);
        const unknown = names.find((name) => !tools.some((tool) => tool.name === name));
        if (unknown === undefined) continue;
        const all = tools.map(({ name }) => name).join(", ");
        throw new Unmet(`tools among those offered (${all || "none"})`, JSON.stringify(unknown), peer.trace.last());
      }
    },
  },
  {
    ...common,
    rule: "TRN-2",
    title: "It renders a conversation with every kind of block, in a later round",
    run: async (stage) => {
      const peer = await stage.attach();
      await rendered(stage, peer, { messages: everyBlock(), extra: { round: 1 } });
    },
  },
];

async function rendered(stage: Stage, peer: Peer, say: Parameters<Stage["work"]>[1]): Promise<Event> {
  const work = await stage.work(peer, say);
  peer.send(work.event);
  const result = await stage.answer(peer, work);
  if (result["success"] !== true) throw new Inapplicable(`it does not render here: ${why(result)}`);
  return result;
}

export function why(result: Event): string {
  return JSON.stringify(result["error"] ?? "and it does not say why");
}

/** A conversation in which a tool was called, as a context and an infer get it. */
export function everyBlock(): Message[] {
  const image = { type: "image" as const, mime_type: "image/png", data: "iVBORw0KGgo=" };
  return [
    { role: "user", content: [{ type: "text", text: "What time is it? \u{1F552}" }, image] },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "I have a tool for that.", signature: "c2lnbmVk" },
        { type: "text", text: "I look." },
        { type: "tool_use", id: "c_1", name: "check_time", input: {} },
        { type: "tool_use", id: "c_2", name: "check_note", input: { text: "time" } },
      ],
    },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "c_1", content: [{ type: "text", text: "12:00" }] },
        { type: "tool_result", tool_use_id: "c_2", content: [{ type: "text", text: "no paper" }], is_error: true },
        { type: "text", text: "And in words?" },
      ],
    },
  ];
}
