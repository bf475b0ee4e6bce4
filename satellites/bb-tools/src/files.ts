import { BytebotError, defineTool, type Tool } from "bytebot/sdk";
import { z } from "zod";
import type { Folder } from "./folder.ts";

const MOST_ENTRIES = 500;
const MOST_BYTES = 256 * 1024;

export function listFiles(folder: Folder): Tool {
  return defineTool({
    name: "list_files",
    description:
      'Lists the files in a folder. Examples: "Which files are in this folder?" = {"path":"."}; "What is in the folder lib?" = {"path":"lib"}; "List the files." = {"path":"."}',
    input: z.object({
      path: z.string().optional().describe(`A folder, as in "notes"; leave it out for the working folder.`),
    }),
    annotations: { read_only: true },
    run: async ({ path }) => {
      const { entries, total } = await folder.list(path || ".", MOST_ENTRIES);
      const lines = entries.map(({ name, type, size }) =>
        type === "folder" ? `${name}/` : type === "file" ? `${name} (${size} bytes)` : name,
      );
      if (total > entries.length) lines.push(`… and ${total - entries.length} more`);
      return lines.length === 0 ? "The folder is empty." : lines.join("\n");
    },
  });
}

export function readFile(folder: Folder): Tool {
  return defineTool({
    name: "read_file",
    description:
      'Reads a text file. Examples: "What does the file a.txt say?" = {"path":"a.txt"}; "Show me main.py." = {"path":"main.py"}; "Open docs/todo.md." = {"path":"docs/todo.md"}',
    input: z.object({ path: z.string().describe(`The file, as in "notes/todo.txt".`) }),
    annotations: { read_only: true },
    run: async ({ path }) => {
      const text = toText(await folder.read(path, MOST_BYTES));
      if (text === undefined) throw new BytebotError("invalid_params", `${path} is no text file: it cannot be shown`);
      return text === "" ? "The file is empty." : text;
    },
  });
}

/** Undefined for what is no UTF-8 text. */
function toText(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
