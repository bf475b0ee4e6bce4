import type { Command } from "./command.ts";

export const command: Command = { help: "", run: () => Promise.resolve(0) };
