import assert from "node:assert/strict";
import { once } from "node:events";
import { cp, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import * as bb from "../../src/sdk/index.ts";
import { ack, Peer, synced } from "./peer.ts";

const code = (expected: string) => (error: unknown) => {
  assert.ok(error instanceof bb.BytebotError, String(error));
  assert.equal(error.code, expected, error.message);
  return true;
};

test("bb_sync carries what was given and nothing undefined, and the grant comes back", async () => {
  const options: bb.SyncOptions = {
    kind: "ui",
    inputCapable: true,
    primary: undefined,
    name: "web",
    scopes: ["u_1"],
    resume: "start",
  };
  const peer = new Peer();
  const done = bb.startInproc(async () => {
    const satellite = await bb.sync(options);
    assert.equal(satellite.componentId, "c_1");
    assert.deepEqual(satellite.granted.scopes, ["u_1"]);
  }, peer.ambient());
  assert.deepEqual(await peer.accept("ui", { scopes: ["u_1"] }), {
    event_type: "bb_sync",
    kind: "ui",
    input_capable: true,
    language: "typescript",
    protocol_version: 1,
    name: "web",
    scopes: ["u_1"],
    resume: "start",
  });
  await done;
  assert.equal((await peer.next("bb_bye"))["reason"], "its main returned");
  assert.deepEqual(peer.faults, []);
});

test("a refused sync throws the Hub's error and closes the connection", async () => {
  const peer = new Peer();
  const done = bb.startInproc(async () => {
    await bb.sync({ kind: "ui" });
  }, peer.ambient());
  await peer.next("bb_sync");
  peer.send({ event_type: "bb_error", code: "unauthorized", message: "no such token", retryable: false });
  await assert.rejects(done, code("unauthorized"));
  assert.equal(await peer.end(), "no such token");
});

test("a satellite that is told to stop in the moment of its acknowledgement stops", async () => {
  const peer = new Peer();
  const stopping = new AbortController();
  const done = bb.startInproc(
    async () => {
      const satellite = await bb.sync({ kind: "ui" });
      await satellite.start();
    },
    {
      ...peer.ambient({ signal: stopping.signal }),
      connect: (receiver) => {
        return peer.ambient().connect({
          event: (event) => {
            receiver.event(event);
            stopping.abort();
          },
          fault: (error) => receiver.fault(error),
          closed: (reason) => receiver.closed(reason),
        });
      },
    },
  );
  await peer.accept("ui");
  await done;
  assert.equal((await peer.next("bb_bye"))["reason"], "stopped");
});

test("a Hub that does not answer bb_sync is given up after 10 s", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const peer = new Peer();
  const done = bb.startInproc(async () => {
    await bb.sync({ kind: "ui" });
  }, peer.ambient());
  await peer.next("bb_sync");
  t.mock.timers.tick(10_000);
  await assert.rejects(done, code("timeout"));
});

test("an abort ends the handshake, and later the connection", async () => {
  const stop = new AbortController();
  const peer = new Peer();
  const aborted = bb.startInproc(async () => {
    await bb.sync({ kind: "ui", signal: AbortSignal.abort() });
  }, peer.ambient());
  await assert.rejects(aborted, code("cancelled"));

  const running = await synced({ kind: "ui", signal: stop.signal }, () => {});
  stop.abort();
  assert.equal(await running.reason, "stopped");
  assert.equal(running.satellite.signal.aborted, true);
});

test("a second sync in one run, and one outside of any, say what to do", async () => {
  const peer = new Peer();
  const done = bb.startInproc(async () => {
    await bb.sync({ kind: "ui" });
    await bb.sync({ kind: "ui" });
  }, peer.ambient());
  await peer.accept("ui");
  await assert.rejects(done, code("conflict"));
  await assert.rejects(bb.sync({ kind: "ui" }), /call it inside main, and start that with bb\.run\(main\)/);
});

test("events that come before start are delivered by it, in order", async () => {
  const peer = new Peer();
  const heard: unknown[] = [];
  const arrived = Promise.withResolvers<void>();
  const done = bb.startInproc(async () => {
    const satellite = await bb.sync({ kind: "ui" });
    satellite.on("vendor.example/mark", () => arrived.resolve());
    satellite.on("user_event", (event) => void heard.push(event.text));
    // Answers are not held: this resolves while the events wait.
    await satellite.sendUserEvent("u_1", "hello");
    assert.deepEqual(heard, []);
    await satellite.start();
  }, peer.ambient());
  await peer.accept("ui");
  const said = await peer.next("user_event");
  const echo = (text: string) => ({ event_type: "user_event", type: "message", scope: "u_1", text });
  peer.send(echo("one"), echo("two"), { event_type: "bb_ack", in_reply_to: String(said["id"]), fate: "started" });
  peer.send(echo("three"), { event_type: "vendor.example/mark" });
  await arrived.promise;
  assert.deepEqual(heard, ["one", "two", "three"]);
  await peer.link.close("test over");
  await done;
});

test("a satellite that never starts is closed after 10,000 held events", async () => {
  const peer = new Peer();
  const done = bb.startInproc(async () => {
    const satellite = await bb.sync({ kind: "ui" });
    if (!satellite.signal.aborted) await once(satellite.signal, "abort");
  }, peer.ambient());
  await peer.accept("ui");
  for (let count = 0; count < 10_001; count++) peer.send({ event_type: "vendor.example/tick" });
  assert.match(await peer.end(), /^overloaded: 10000 events came before start\(\)$/);
  await done;
});

test("a failing main closes its connection with the reason and rejects", async () => {
  const peer = new Peer();
  const done = bb.startInproc(async () => {
    await bb.sync({ kind: "ui" });
    throw new Error("no screen");
  }, peer.ambient());
  await peer.accept("ui");
  await assert.rejects(done, /no screen/);
  assert.equal(await peer.end(), "its main failed: no screen");
});

test("a component with its own copy of the package runs in the app's, and keeps its scope", async () => {
  const copy = await mkdtemp(path.join(tmpdir(), "bytebot-copy-"));
  try {
    const root = fileURLToPath(new URL("../../", import.meta.url));
    await cp(path.join(root, "src"), path.join(copy, "src"), { recursive: true });
    await cp(path.join(root, "package.json"), path.join(copy, "package.json"));
    await symlink(fileURLToPath(new URL("../../../../node_modules", import.meta.url)), path.join(copy, "node_modules"));
    const other = (await import(pathToFileURL(path.join(copy, "src/sdk/index.ts")).href)) as typeof bb;
    assert.notEqual(other.sync, bb.sync);
    const peer = new Peer();
    const done = bb.startInproc(
      async ({ opts }) => {
        assert.deepEqual(opts, { color: "red" });
        const satellite = await other.sync({ kind: "ui" });
        void bb.scoped("u_1", () => satellite.sendUserEvent(null, "hi")).catch(() => {});
        await satellite.start();
      },
      peer.ambient({ opts: { color: "red" } }),
    );
    await peer.accept("ui");
    assert.equal((await peer.next("user_event"))["scope"], "u_1");
    await peer.link.close("test over");
    await done;
  } finally {
    await rm(copy, { recursive: true });
  }
});

test("a module that ends in run(main) can be loaded by an app, which then starts its main", async () => {
  const module = await bb.loadInproc(() => import("./fixtures/runs-itself.ts"));
  assert.equal(module.started.length, 0);
  const peer = new Peer();
  const done = bb.startInproc(module.main, peer.ambient({ opts: { n: 1 } }));
  await peer.accept("telemetry");
  await peer.link.close("test over");
  await done;
  assert.deepEqual(module.started, [{ n: 1 }]);
});

test("the acknowledgement may be followed by events in the same tick", async () => {
  const peer = new Peer();
  const first = Promise.withResolvers<string>();
  const done = bb.startInproc(async () => {
    const satellite = await bb.sync({ kind: "ui" });
    satellite.on("scope_state", (event) => first.resolve(event.state));
    await satellite.start();
  }, peer.ambient());
  await peer.next("bb_sync");
  peer.send(ack("ui"), { event_type: "scope_state", scope: "u_1", state: "idle" });
  assert.equal(await first.promise, "idle");
  await peer.link.close("test over");
  await done;
});

test("the satellite knows the cursor of the newest event it was handed, and resume takes it (RPL-3, RPL-4)", async () => {
  const { peer, satellite, ...synced_ } = await synced({ kind: "ui", resume: "m1:4.0" }, () => undefined);
  await using _ = synced_;
  assert.deepEqual(peer.events.find(({ event_type }) => event_type === "bb_sync")?.["resume"], ["m1:4.0"]);
  assert.equal(satellite.cursor, undefined);
  const cursors: unknown[] = [];
  const last = Promise.withResolvers<void>();
  satellite.on("*", ({ event_type }) => {
    cursors.push(satellite.cursor);
    if (event_type === "user_event") last.resolve();
  });
  peer.send({ event_type: "bb_live", cursor: "m1:7" }, { event_type: "scope_state", scope: "u", state: "idle" });
  peer.send({ event_type: "user_event", type: "message", scope: "u", text: "hi", cursor: "m1:8.0" });
  await last.promise;
  assert.deepEqual(cursors, ["m1:7", "m1:7", "m1:8.0"]);
});
