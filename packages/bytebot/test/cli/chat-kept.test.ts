import assert from "node:assert/strict";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { Cli, eventually, folder, leftOf } from "./cli.ts";

const timeout = 60_000;

interface Asked {
  messages: { role: string; content: unknown }[];
}

/** A server of models that answers with all that the person has said; to "wait" with half a word, until it may go on. */
class Model {
  readonly asked: string[][] = [];
  mayGoOn = false;
  url = "";

  async start(t: TestContext): Promise<this> {
    const server = createServer((request, response) => {
      // It is asked what kind of server it is before it is asked for an answer, and is none that says.
      if (request.method === "GET" || request.url?.startsWith("/api/")) return void response.writeHead(404).end();
      let text = "";
      request.setEncoding("utf8").on("data", (part: string) => (text += part));
      request.on("end", () => this.answer(text, response));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    t.after(() => {
      server.closeAllConnections();
      server.close();
    });
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    return this;
  }

  private answer(body: string, response: ServerResponse): void {
    const { messages } = JSON.parse(body) as Asked;
    const said = messages.filter(({ role }) => role === "user").map(({ content }) => String(content));
    this.asked.push(said);
    response.writeHead(200, { "content-type": "text/event-stream" });
    const say = (delta: object, finish_reason: string | null = null) =>
      response.write(`data: ${JSON.stringify({ id: "c_1", choices: [{ index: 0, delta, finish_reason }] })}\n\n`);
    if (said.at(-1) === "wait" && !this.mayGoOn) return void say({ content: "half" });
    say({ content: `You said: ${said.join(", ")}.` });
    say({}, "stop");
    response.end("data: [DONE]\n\n");
  }
}

async function place(t: TestContext) {
  const model = await new Model().start(t);
  const cwd = await folder(t);
  const env = { TMPDIR: cwd, XDG_STATE_HOME: join(cwd, "state"), ANTHROPIC_API_KEY: "", OPENAI_API_KEY: "" };
  const args = ["chat", "--provider", "openai-compatible", "--base-url", model.url, "--model", "scripted"];
  return { model, cwd, env, chat: (input: string) => new Cli(t, args, { cwd, env, input }) };
}

test(
  "bytebot chat that is killed in the middle of an answer goes on when it is started again in its folder: the model is told all that was said, and only the new is printed (DUR-1, REC-4)",
  { timeout },
  async (t) => {
    const { model, cwd, chat } = await place(t);
    const first = chat("hello\nwait\n");
    await first.until("half an answer", ({ out }) => out.includes("half"));
    assert.match(first.out, /^You said: hello\.\n/);
    first.kill("SIGKILL");
    await first.done;
    await eventually(() => leftOf(cwd).length === 0);
    assert.match(readdirSync(join(cwd, "state/bytebot")).join(" "), /^bytebot-cli-\w+-[0-9a-f]{8}\.db /);
    model.mayGoOn = true;
    const { code, out, err } = await chat("and now?\n").done;
    assert.equal(code, 0, err);
    assert.equal(out, "You said: hello, wait, and now?.\n");
    assert.deepEqual(model.asked, [["hello"], ["hello", "wait"], ["hello", "wait"], ["hello", "wait", "and now?"]]);
  },
);

test(
  "a second bytebot chat in the same folder says that it is kept in memory alone, and why, and answers; the first is unharmed (DUR-2)",
  { timeout },
  async (t) => {
    const { model, chat } = await place(t);
    const first = chat("wait\nand on\n");
    await first.until("half an answer", ({ out }) => out.includes("half"));
    const { code, out, err } = await chat("hello\n").done;
    assert.equal(code, 0, err);
    assert.equal(out, "You said: hello.\n");
    const why = new RegExp(
      `^this conversation is kept in memory alone, and ends with it: the log \\S+\\.db is in use by process ${first.pid} `,
      "m",
    );
    assert.match(err, why);
    assert.deepEqual(model.asked, [["wait"], ["hello"]]);
    first.kill("SIGKILL");
    await first.done;
    // Nothing of the second is in the first one's log.
    model.mayGoOn = true;
    assert.equal((await chat("and on\n").done).out, "You said: wait, and on.\n");
  },
);
