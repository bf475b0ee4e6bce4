import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test, type TestContext } from "node:test";
import { dialSocket, listenSocket, type Connect, type Link, type SocketServer } from "../../src/transport/index.ts";
import { Ears } from "./ears.ts";

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "bytebot-socket-"));
  t.after(() => rm(path, { recursive: true }));
  return path;
}

async function listen(
  t: TestContext,
  path: string,
  onConnection: (open: Connect) => void = () => {},
): Promise<SocketServer> {
  const server = await listenSocket(path, onConnection);
  t.after(() => server.close());
  return server;
}

/** A process that listens on the path and dies without removing it. */
async function deadListener(path: string): Promise<void> {
  const code = `require("net").createServer().listen(process.argv[1], () => process.kill(process.pid, "SIGKILL"))`;
  await once(spawn(process.execPath, ["-e", code, path]), "exit", { signal: AbortSignal.timeout(10_000) });
  assert.ok((await stat(path)).isSocket());
}

suite("the local socket", () => {
  test("a program that dials speaks with the app that listens", async (t) => {
    const path = join(await folder(t), "made", "app.sock");
    const hub = new Ears();
    const opened = Promise.withResolvers<Link>();
    await listen(t, path, (open) => opened.resolve(open(hub, t.signal)));
    const ears = new Ears();
    const link = await dialSocket(path)(ears, t.signal);
    const near = await opened.promise;
    link.send({ event_type: "to the app" });
    near.send({ event_type: "from the app" });
    await Promise.all([hub.next("to the app"), ears.next("from the app")]);
    await link.close("done");
    await hub.end();
    await near.close("done");
    assert.deepEqual([ears.closings.length, hub.closings.length], [1, 1]);
  });

  test("only its user can reach it: 0600 in a folder made 0700", async (t) => {
    const path = join(await folder(t), "made", "app.sock");
    await listen(t, path);
    const [socket, made] = [await stat(path), await stat(join(path, ".."))];
    assert.deepEqual([socket.mode & 0o777, made.mode & 0o777], [0o600, 0o700]);
  });

  test("a folder open to others is refused, and left as it is", async (t) => {
    const open = await folder(t);
    await chmod(open, 0o755);
    await assert.rejects(
      listenSocket(join(open, "app.sock"), () => {}),
      { code: "forbidden", message: /open to other users; put the socket into a folder of your own/ },
    );
    assert.equal((await stat(open)).mode & 0o777, 0o755);
  });

  test("what a dead app left behind is replaced", async (t) => {
    const path = join(await folder(t), "app.sock");
    await deadListener(path);
    await listen(t, path);
    const link = await dialSocket(path)(new Ears(), t.signal);
    await link.close("done");
  });

  test("of two apps that find a dead one's socket at once, one gets it and the other is told", async (t) => {
    const path = join(await folder(t), "app.sock");
    await deadListener(path);
    const both = await Promise.allSettled([listen(t, path), listen(t, path)]);
    const refused = both.filter((each) => each.status === "rejected");
    assert.deepEqual(
      refused.map(({ reason }) => (reason as { code: string }).code),
      ["conflict"],
    );
    await (await dialSocket(path)(new Ears(), t.signal)).close("done");
  });

  test("a running app keeps its socket: a second one is refused, and programs still reach the first", async (t) => {
    const path = join(await folder(t), "app.sock");
    await listen(t, path);
    await assert.rejects(
      listenSocket(path, () => {}),
      { code: "conflict", message: /another process listens on .*app\.sock: end it, or choose another path/ },
    );
    await (await dialSocket(path)(new Ears(), t.signal)).close("done");
  });

  test("a file that is no socket is never removed", async (t) => {
    const path = join(await folder(t), "app.sock");
    await writeFile(path, "precious");
    await assert.rejects(
      listenSocket(path, () => {}),
      { code: "conflict", message: /is no socket/ },
    );
    assert.ok((await stat(path)).isFile());
  });

  test("a path too long for a socket is refused with the limit", async () => {
    await assert.rejects(
      listenSocket(`/tmp/${"x".repeat(100)}`, () => {}),
      { code: "invalid_params", message: /at most 103 bytes/ },
    );
  });

  test("where no app listens, dialling says so and how to start one", async (t) => {
    const path = join(await folder(t), "app.sock");
    await assert.rejects(dialSocket(path)(new Ears(), t.signal), {
      code: "unavailable",
      message: /start the app first, with bytebot run/,
    });
    await assert.rejects(dialSocket(path)(new Ears(), AbortSignal.abort()), { code: "cancelled" });
  });

  test("closing the server ends what is connected and removes the socket", async (t) => {
    const path = join(await folder(t), "app.sock");
    const server = await listen(t, path);
    const ears = new Ears();
    await dialSocket(path)(ears, t.signal);
    await server.close();
    await ears.end();
    await assert.rejects(stat(path), { code: "ENOENT" });
  });

  test("a program that hangs up at once does not harm the app", async (t) => {
    const path = join(await folder(t), "app.sock");
    const opens: Connect[] = [];
    await listen(t, path, (open) => opens.push(open));
    const socket = connect(path);
    await once(socket, "connect");
    socket.destroy();
    await (await dialSocket(path)(new Ears(), t.signal)).close("done");
    const ears = new Ears();
    await opens[0]!(ears, t.signal)
      .then(() => ears.end())
      .catch((error: unknown) => assert.match(String(error), /hung up/));
  });
});
