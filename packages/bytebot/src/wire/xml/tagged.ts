import { Malformed, MAX_NAME, skipWhite, toolName, type CallReader, type CallSink } from "./call.ts";
import { decodeAttribute, type Escapes } from "./escape.ts";
import type { ValueKind } from "./schema.ts";
import { Seeker, Tags } from "./seek.ts";
import { Value } from "./value.ts";

/** The tags of a dialect that writes each parameter between tags of its own. */
export interface TaggedForm {
  /** What begins a function or a parameter; its name and `>` follow, before the `>` a `"` where this ends with one. */
  call: string;
  parameter: string;
  parameterEnd: string;
  callEnd: string;
  end: string;
  /** A value has a line of its own: the line breaks around it are not part of it. */
  framed: boolean;
  escapes: Escapes;
}

type State = "head" | "name" | "parameters" | "key" | "value" | "ending" | "tail" | "done";

/** `<function_calls><invoke name="…"><parameter name="…">value</parameter></invoke></function_calls>` and its like. */
export class TaggedReader implements CallReader {
  private state: State = "head";
  /** What may become a tag. */
  private held = "";
  private label = "";
  private readonly keys = new Set<string>();
  private value: Value | undefined;
  private seeker = new Seeker();
  /** The closing tag of a value, and the white space after it, until what follows says whether it closes. */
  private closing = "";
  private readonly tags: { head: Tags; members: Tags; value: Tags; tail: Tags };
  private readonly form: TaggedForm;
  private readonly kindOf: (tool: string, key: string) => ValueKind;
  private readonly sink: CallSink;
  private tool = "";

  constructor(form: TaggedForm, kindOf: (tool: string, key: string) => ValueKind, sink: CallSink) {
    this.form = form;
    this.kindOf = kindOf;
    this.sink = sink;
    this.tags = {
      head: new Tags(form.call),
      members: new Tags(form.parameter, form.callEnd),
      value: new Tags(form.parameterEnd),
      tail: new Tags(form.end),
    };
  }

  read(piece: string): string | undefined {
    let rest = this.held + piece;
    this.held = "";
    while (rest !== "" && this.state !== "done") rest = this.step(rest);
    return this.state === "done" ? rest : undefined;
  }

  /** Takes what it can and answers the rest; nothing is left where more has to come first. */
  private step(text: string): string {
    switch (this.state) {
      case "head":
        return this.expect(text, this.tags.head, `${this.form.call}… has to follow the opening tag`);
      case "parameters":
        return this.expect(
          text,
          this.tags.members,
          `only ${this.form.parameter}… and ${this.form.callEnd} may stand between parameters`,
        );
      case "tail":
        return this.expect(
          text,
          this.tags.tail,
          `${this.form.end} has to follow ${this.form.callEnd}: one call an answer`,
        );
      case "name":
      case "key":
        return this.readLabel(text);
      case "value":
        return this.readValue(text);
      case "ending":
        return this.readEnding(text);
      case "done":
        return text;
    }
  }

  private expect(text: string, tags: Tags, why: string): string {
    const at = skipWhite(text);
    if (at === text.length) return "";
    const found = tags.at(text, at);
    if (found === undefined) throw new Malformed(why);
    if (found === "part") {
      this.held = text.slice(at);
      return "";
    }
    this.enter(found.tag);
    return text.slice(at + found.tag.length);
  }

  private enter(tag: string): void {
    const { form } = this;
    this.label = "";
    if (tag === form.call) this.state = "name";
    else if (tag === form.parameter) this.state = "key";
    else if (tag === form.callEnd) {
      this.sink.arguments(this.keys.size === 0 ? "{}" : "}");
      this.state = "tail";
    } else this.state = "done";
  }

  private readLabel(text: string): string {
    const end = text.indexOf(">");
    this.label += end === -1 ? text : text.slice(0, end);
    // A name is short, and what has no ">" soon is none.
    if (this.state === "name" && this.label.length > MAX_NAME) toolName(this.label);
    if (end === -1) return "";
    if (this.state === "name") this.startCall(this.unquoted(this.form.call));
    else this.startValue(decodeAttribute(this.unquoted(this.form.parameter)));
    return text.slice(end + 1);
  }

  private unquoted(opening: string): string {
    if (!opening.endsWith('"')) return this.label;
    if (this.label.indexOf('"') === this.label.length - 1) return this.label.slice(0, -1);
    throw new Malformed(`a name is written as ${opening}…">`);
  }

  private startCall(label: string): void {
    this.tool = toolName(label);
    this.sink.name(this.tool);
    this.state = "parameters";
  }

  private startValue(key: string): void {
    if (this.keys.has(key)) throw new Malformed(`the parameter ${JSON.stringify(key.slice(0, 64))} is there twice`);
    this.sink.arguments(`${this.keys.size === 0 ? "{" : ","}${JSON.stringify(key)}:`);
    this.keys.add(key);
    const { form } = this;
    const kind = this.kindOf(this.tool, key);
    this.value = new Value(key, kind, form.framed, form.escapes, (json) => this.sink.arguments(json));
    this.seeker = new Seeker(kind.read === "raw" ? form.escapes : undefined);
    this.state = "value";
  }

  private readValue(text: string): string {
    const found = this.seeker.push(text, this.tags.value, (plain) => this.value!.add(plain));
    if (!found) return "";
    this.closing = found.tag;
    this.state = "ending";
    return found.rest;
  }

  /** A value ends at its closing tag only where another parameter or the end of the call follows (rule XML-4). */
  private readEnding(text: string): string {
    const at = skipWhite(text);
    this.closing += text.slice(0, at);
    if (at === text.length) return "";
    const found = this.tags.members.at(text, at);
    if (found === "part") {
      this.held = text.slice(at);
      return "";
    }
    if (found === undefined) {
      this.value!.add(this.closing);
      this.state = "value";
      return text.slice(at);
    }
    this.value!.end();
    this.enter(found.tag);
    return text.slice(at + found.tag.length);
  }
}
