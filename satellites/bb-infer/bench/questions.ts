import type { ModelTool } from "bytebot/sdk";

const object = (properties: object, required: string[] = []) => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});
const text = { type: "string" };

/** The four tools of `bytebot chat` (bb-tools), described as there. */
export const tools: ModelTool[] = [
  {
    name: "current_time",
    description:
      'Tells the current date and time. Examples: "What time is it?" = {}; "What day is today?" = {}; "Tell me the date." = {}',
    input_schema: object({ timezone: text }),
  },
  {
    name: "calculate",
    description:
      'Works out an arithmetic expression with numbers, + - * / and brackets. Examples: "How much is 12 times 3?" = {"expression":"12 * 3"}; "What is (4 + 5) / 2?" = {"expression":"(4 + 5) / 2"}; "How much is 60 / 5?" = {"expression":"60 / 5"}; "Take 3 from 8." = {"expression":"8 - 3"}',
    input_schema: object({ expression: text }, ["expression"]),
  },
  {
    name: "list_files",
    description:
      'Lists the files in a folder. Examples: "Which files are in this folder?" = {"path":"."}; "What is in the folder lib?" = {"path":"lib"}; "List the files." = {"path":"."}',
    input_schema: object({ path: text }),
  },
  {
    name: "read_file",
    description:
      'Reads a text file. Examples: "What does the file a.txt say?" = {"path":"a.txt"}; "Show me main.py." = {"path":"main.py"}; "Open docs/todo.md." = {"path":"docs/todo.md"}',
    input_schema: object({ path: text }, ["path"]),
  },
];

/** Fixed, with the tools that would do; written before the first run and not changed to suit a model. */
export const questions: [question: string, plausible: string[]][] = [
  ["What time is it now?", ["current_time"]],
  ["What's the date today?", ["current_time"]],
  ["Which year is it?", ["current_time"]],
  ["Is it Monday today?", ["current_time"]],
  ["how late is it?", ["current_time"]],
  ["What is 6 times 7?", ["calculate"]],
  ["How much is 250 divided by 5?", ["calculate"]],
  ["17 + 25", ["calculate"]],
  ["Subtract 9 from 100", ["calculate"]],
  ["What is (12 - 4) * 3?", ["calculate"]],
  ["Which files do you see here?", ["list_files"]],
  ["List everything in the folder test", ["list_files"]],
  ["Show the files in src", ["list_files"]],
  ["What is inside the directory examples?", ["list_files"]],
  ["Are there any files in docs?", ["list_files"]],
  ["Read the file README.md", ["read_file"]],
  ["What does package.json contain?", ["read_file"]],
  ["Please open notes.txt for me", ["read_file"]],
  ["Print src/main.ts", ["read_file"]],
  ["Show me what is written in LICENSE", ["read_file"]],
];
