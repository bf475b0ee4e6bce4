import type { Message } from "bytebot/sdk";
import { LlamaText } from "node-llama-cpp";
import { examplesOf, hasExamples, interleaved, type Example } from "./examples.ts";
import { isResult, lastQuestion, textOf } from "./messages.ts";
import { fitting, NONE, tooLarge, type Asked, type Draft, type Prompts, type Room } from "./prompt.ts";

const MAX_QUESTION = 2_000;
/** Of a result: what a model of this size reads out reliably. Of more it loses the thread and makes things up. */
const MAX_READ = 80;
const QUOTE = '"""';

/** What needs no tool; and how arguments are taken from a question, for tools that bring no examples of their own. */
const small: Example[] = ["Hello!", "Who wrote Hamlet?", "Thank you.", "Tell me a story."].map((question) => ({
  question,
  input: {},
}));
const copying: [string, Example][] = [
  ["get_weather", { question: "Will it rain in Paris tomorrow?", input: { city: "Paris" } }],
  ["add_item", { question: "Put milk on the shopping list", input: { list: "shopping", item: "milk" } }],
  ["population", { question: "How many people live in Japan?", input: { country: "Japan" } }],
];

/** A result and how it is read out: word for word, which is what a model this small can do without making things up. */
const readings: [question: string, result: string][] = [
  ["8 + 1", "9"],
  ["Who is on the team?", "Ann Lee\nBob (guest)\nEve Miller\nTom"],
  ["Will it rain in Paris tomorrow?", "rain, 12 degrees"],
  ["What does the letter from Anna say?", "Dear Bob,\n\nsee you on Friday.\nAnna"],
  ["How far is it to Rome?", "1200 km"],
];

const talk = `User: Hello!\nAssistant: Hello! How can I help you?\n\nUser: What is the capital of Italy?\nAssistant: The capital of Italy is Rome.\n\n`;

/** A base model has learned no conversation; it continues text. So each prompt is a pattern that only needs one more line. */
export const base: Prompts = {
  nameEnd: " {",

  choice({ tools, messages }) {
    const shown = tools.map((tool) => ({ name: tool.name, examples: examplesOf(tool) }));
    const most = Math.max(...shown.map(({ examples }) => examples.length));
    const lines = interleaved([...shown, { name: NONE, examples: small.slice(0, most) }]);
    return LlamaText(`${pattern(lines)}${ask(messages)} =`);
  },

  input(asked, tool) {
    // Arguments made up from a schema would be copied: without examples of its own, those of other tools show how.
    const begun = hasExamples(tool) ? base.choice(asked) : LlamaText(`${pattern(copying)}${ask(asked.messages)} =`);
    return LlamaText([begun, ` ${tool.name} `]);
  },

  answer(asked, room) {
    const last = asked.messages.at(-1);
    return last && isResult(last) ? readOut(asked.messages, last, room) : speak(asked, room);
  },

  // The text that a grammar leaves must not end at what would end a line of talk.
  shaped: (asked, room) => ({ ...speak(asked, room), stops: [] }),
};

function pattern(lines: readonly [string, Example][]): string {
  return lines
    .map(([name, { question, input }]) => `${JSON.stringify(question)} = ${name} ${JSON.stringify(input)}\n`)
    .join("");
}

function ask(messages: readonly Message[]): string {
  return JSON.stringify(lastQuestion(messages).slice(0, MAX_QUESTION));
}

function readOut(messages: readonly Message[], last: Message, room: Room): Draft {
  const question = lastQuestion(messages).slice(0, MAX_QUESTION);
  const head = readings.map(([asked, result]) => `${reading(asked, result)}${result}\n${QUOTE}\n\n`).join("");
  const result = last.content.map(textOf).join("\n").replaceAll(QUOTE, "'''").trim();
  const prompt = LlamaText(head + reading(question, beginning(result) || "(nothing)"));
  const tokens = room.tokens(prompt);
  if (tokens > room.limit) throw tooLarge(tokens, room);
  return { prompt, stops: [QUOTE, "\nUser:"], copies: true };
}

function beginning(text: string): string {
  if (text.length <= MAX_READ) return text;
  const cut = text.slice(0, MAX_READ);
  return `${cut.slice(0, Math.max(cut.lastIndexOf("\n"), cut.lastIndexOf(" "), 1))} …`;
}

function reading(question: string, result: string): string {
  return `User: ${question}\nResult: ${QUOTE}\n${result}\n${QUOTE}\nAssistant: The answer is: ${QUOTE}\n`;
}

function speak({ system, messages }: Asked, room: Room): Draft {
  const head = `${system ? `${system}\n\n` : ""}${talk}`;
  const draft = (some: readonly Message[]) => LlamaText(`${head}${some.map(line).join("")}Assistant:`);
  return { prompt: fitting(messages, draft, room), stops: ["\nUser:", "\nAssistant:", "\nResult:"] };
}

function line(message: Message): string {
  const text = message.content.map(textOf).join("\n").trim();
  if (isResult(message)) return `Result: ${QUOTE}\n${beginning(text)}\n${QUOTE}\n`;
  if (message.role === "user") return `User: ${text}\n`;
  return text === "" ? "" : `Assistant: ${text}\n\n`;
}
