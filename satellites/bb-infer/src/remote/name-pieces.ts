interface Call {
  index?: number | null;
  id?: string | null | undefined;
  type?: string;
  function?: { name?: string | null; arguments?: string | null } | null;
}

interface Chunk {
  choices?: { delta?: { tool_calls?: Call[] | null } | null; finish_reason?: string | null }[];
}

const TOOL_CALLS = Buffer.from('"tool_calls"');
const LF = 10;

/**
 * A stream of chat completions in which each call has its name whole. Some servers write it in pieces, which the package
 * takes for calls of their own. A name that only begins that of an offered tool waits for the rest: until another call,
 * arguments, or the end of the reply. Everything else passes as it came.
 */
export class NamePieces {
  private readonly tools: readonly string[];
  private readonly waiting = new Map<number, Call>();
  private held: Uint8Array[] = [];

  constructor(tools: readonly string[]) {
    this.tools = tools;
  }

  /** The whole lines that end with this chunk. */
  take(chunk: Uint8Array): Uint8Array {
    const end = chunk.lastIndexOf(LF) + 1;
    if (end === 0) {
      this.held.push(chunk);
      return new Uint8Array(0);
    }
    const whole = chunk.subarray(0, end);
    const bytes =
      this.held.length > 0 ? Buffer.concat([...this.held, whole]) : Buffer.from(whole.buffer, whole.byteOffset, end);
    this.held = end < chunk.length ? [chunk.subarray(end)] : [];
    if (this.waiting.size === 0 && !bytes.includes(TOOL_CALLS)) return bytes;
    const lines = bytes.toString("utf8").split("\n");
    return Buffer.from(lines.map((line) => this.line(line)).join("\n"));
  }

  /** What is left of a stream that has ended. */
  rest(): Uint8Array {
    const bytes = Buffer.concat(this.held);
    this.held = [];
    return bytes;
  }

  private line(line: string): string {
    if (!line.startsWith("data:") || (this.waiting.size === 0 && !line.includes('"tool_calls"'))) return line;
    try {
      const chunk = JSON.parse(line.slice(5)) as Chunk | null;
      const [choice] = chunk?.choices ?? [];
      if (!choice) return line;
      const calls = (choice.delta?.tool_calls ?? []).flatMap((call) => this.call(call));
      if (choice.finish_reason) calls.push(...this.release());
      if (!choice.delta?.tool_calls && calls.length === 0) return line;
      choice.delta = { ...choice.delta, tool_calls: calls };
      return `data: ${JSON.stringify(chunk)}`;
    } catch {
      return line; // no JSON: the package says so
    }
  }

  private call(call: Call): Call[] {
    const { index } = call;
    const { name, arguments: json } = call.function ?? {};
    if (typeof index !== "number") return [call];
    const before = this.waiting.get(index);
    if (!before && this.waiting.size > 0) return [...this.release(), ...this.call(call)];
    const joined = (before?.function?.name ?? "") + (name ?? "");
    if (before && !this.goesOn(before, call, joined)) {
      this.waiting.delete(index);
      return [before, ...this.call(call)];
    }
    const one: Call = {
      ...before,
      ...call,
      id: call.id || before?.id,
      function: { name: joined, arguments: json ?? "" },
    };
    const isBegun = name && this.tools.some((tool) => tool !== joined && tool.startsWith(joined));
    if (!json && (before ? !name || isBegun : isBegun)) {
      this.waiting.set(index, one);
      return [];
    }
    this.waiting.delete(index);
    return [before || isBegun ? one : call];
  }

  /** Is this more of the call that waits? */
  private goesOn(before: Call, call: Call, joined: string): boolean {
    if (call.id && before.id && call.id !== before.id) return false;
    return !call.function?.name || this.tools.some((tool) => tool.startsWith(joined));
  }

  private release(): Call[] {
    const calls = [...this.waiting.values()];
    this.waiting.clear();
    return calls;
  }
}
