import { BytebotError, type ToolRegisterResult } from "../wire/index.ts";
import type { Connection } from "./connection.ts";
import type { Tool } from "./tools.ts";

/** A toolsource's tools: on the wire always the whole set. */
export class ToolSet {
  private readonly connection: Connection;
  private readonly tools = new Map<string, Tool>();
  /** Names added since the last registration, once started. */
  private added: string[] = [];
  private state: "collecting" | "started" = "collecting";
  private last: Promise<void> = Promise.resolve();

  constructor(connection: Connection) {
    this.connection = connection;
  }

  add(tool: Tool): void {
    const { name } = tool.definition;
    if (this.tools.has(name))
      throw new BytebotError("conflict", `there is a tool "${name}" already: give this one another name`);
    this.tools.set(name, tool);
    if (this.state === "collecting") return;
    this.added.push(name);
    // What is added in one tick goes out as one registration, one after the other.
    if (this.added.length === 1) this.last = this.last.then(() => this.registerAdded());
  }

  get(name: string): Tool | undefined {
    return this.tools.get(name);
  }

  /** Rejects with the Hub's error where it refuses the set. */
  async start(): Promise<void> {
    this.state = "started";
    if (this.tools.size === 0) return;
    const registration = this.register();
    this.last = registration.catch(() => undefined);
    await registration;
  }

  private async registerAdded(): Promise<void> {
    const added = this.added;
    this.added = [];
    try {
      await this.register();
    } catch (error) {
      // The Hub kept the old set, and so does this side: the next registration is not refused for the same tool.
      for (const name of added) this.tools.delete(name);
      if (!this.connection.signal.aborted) console.error(`bytebot: not registered: ${added.join(", ")}:`, error);
    }
  }

  private async register(): Promise<void> {
    const tools = [...this.tools.values()].map((tool) => tool.definition);
    const result = (await this.connection.request({ event_type: "bb_tool_register", tools })) as ToolRegisterResult;
    if (result.success) return;
    throw BytebotError.fromWire(
      result.error ?? { code: "internal", message: "the Hub refused the tools and did not say why", retryable: false },
    );
  }
}
