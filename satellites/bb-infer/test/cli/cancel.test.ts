import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { suite, test } from "node:test";
import { BytebotError } from "bytebot/sdk";
import type { Unmet } from "../../src/cli/doctor/check.ts";
import { cancelChecks } from "../../src/cli/doctor/checks/cancel.ts";
import { Connections } from "../../src/cli/doctor/connections.ts";
import { Exam } from "../../src/cli/doctor/exam.ts";
import type { InferContext, Provider } from "../../src/provider.ts";

/** A provider of somebody else's: it says one word, and then does as it likes with the cancel. */
function provider(infer: (signal: AbortSignal) => Promise<never>): Provider {
  return {
    label: "somebody else's",
    capabilities: {},
    infer: async (_, reply, { signal }: InferContext) => {
      const end = infer(signal);
      reply.text("Once");
      return end;
    },
    close: () => Promise.resolve(),
  };
}

async function cancel(one: Provider, baseUrl?: string): Promise<Unmet> {
  const subject = {
    provider: one,
    capabilities: one.capabilities,
    baseUrl,
    why: "",
    params: {},
    key: undefined,
    reopen: () => Promise.resolve(one),
  };
  const exam = new Exam(subject, { timeoutMs: 10_000, signal: new AbortController().signal });
  return cancelChecks[0]!.run(exam).then(
    () => assert.fail("the cancel was in order"),
    (error: Unmet) => error,
  );
}

/** Rejects with `code`, so many milliseconds after the abort. */
async function ends(signal: AbortSignal, code: BytebotError["code"], ms = 0): Promise<never> {
  await once(signal, "abort");
  if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
  throw new BytebotError(code, "stopped");
}

/** A server that says one letter of each reply and goes on for ever. */
async function endless(): Promise<{ url: string } & AsyncDisposable> {
  const server = createServer((_, response) => void response.write("x")).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await once(server.close(), "close");
    },
  };
}

suite("what a provider of somebody else's may do with a cancel is seen", { concurrency: true }, () => {
  test("one that ends late fails", async () => {
    const { expected, got } = await cancel(provider((signal) => ends(signal, "cancelled", 1_050)));
    assert.equal(expected, "an end within 1000 ms");
    assert.match(got, /^one after 1\d\d\d ms$/);
  });

  test("one that calls it a failure of the server fails", async () => {
    const { expected, got } = await cancel(provider((signal) => ends(signal, "unavailable")));
    assert.deepEqual([expected, got], ["code cancelled", "unavailable: stopped"]);
  });

  test("one that leaves its connection open fails", async () => {
    await using server = await endless();
    const leaving = provider((signal) => ends(signal, "cancelled"));
    const infer: Provider["infer"] = async (...asked) => {
      await fetch(server.url);
      return leaving.infer(...asked);
    };
    const { expected, got } = await cancel({ ...leaving, infer }, server.url);
    assert.equal(expected, "a closed connection");
    assert.match(got, /still open after 1000 ms$/);
  });
});

test("a connection that stays open is seen, and one that is closed", async () => {
  await using server = await endless();
  using connections = new Connections(server.url);
  using elsewhere = new Connections("http://127.0.0.1:9");
  const stop = new AbortController();
  await fetch(server.url, { signal: stop.signal });
  assert.deepEqual([await connections.open(20), connections.seen, elsewhere.seen], [1, 1, 0]);
  stop.abort();
  assert.equal(await connections.open(10_000), 0);
});
