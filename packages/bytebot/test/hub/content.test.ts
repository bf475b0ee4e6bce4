import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { MemoryBlobs } from "../../src/log/index.ts";
import type { Event } from "../../src/wire/index.ts";
import { inferResult, message, register, toolChunks, World, type Peer, type WorldOptions } from "./world.ts";

type Blocks = { type: string; text?: string; ref?: string; size?: number; mime_type?: string; data?: string }[];

const refOf = (bytes: Uint8Array | string): string => `sha256-${createHash("sha256").update(bytes).digest("hex")}`;
const picture = (bytes: number, fill = "p") => {
  const data = Buffer.alloc(bytes, fill).toString("base64");
  return { type: "image", mime_type: "image/png", data };
};

/** A conversation whose model has asked for one call. */
async function calling(options: WorldOptions = {}) {
  const world = new World(options);
  const infer = await world.join("infer");
  const source = await world.join("toolsource");
  const ui = await world.join("ui");
  await source.send(register("read"));
  await ui.send(message("go"));
  const request = infer.last("bb_infer_request");
  await infer.send(...toolChunks(request, "read", {}), inferResult(request, "tool_use"));
  const answer = async (content: unknown[]): Promise<Blocks> => {
    const { call_id } = source.last("bb_tool_call_request");
    await source.send({ event_type: "bb_tool_call_result", call_id, success: true, content });
    await settled(world, () => ui.all("tool_result").length > 0);
    const shown = ui.last("tool_result")["content"] as Blocks;
    const said = infer.last("bb_infer_request")["messages"] as { content: { content: Blocks }[] }[];
    const words = shown.filter(({ text }) => text !== "");
    assert.deepEqual(said.at(-1)!.content[0]!.content, words, "the model gets what people are shown");
    return shown;
  };
  const end = async (): Promise<void> => {
    await infer.send(inferResult(infer.last("bb_infer_request")));
    await world.end();
  };
  return { world, infer, source, ui, answer, end };
}

async function settled(world: World, holds: () => boolean): Promise<void> {
  for (let turns = 0; turns < 1000 && !holds(); turns++) await world.settle();
}

/** What a ref stands for, as this peer gets it. */
async function bytesOf(world: World, peer: Peer, ref: string, scope = "u"): Promise<Buffer> {
  const id = `get_${peer.got.length}`;
  await peer.send({ event_type: "bb_blob", id, scope, ref });
  const parts = (): Event[] => peer.got.filter((event) => event["in_reply_to"] === id);
  await settled(world, () => parts().at(-1)?.["last"] !== false);
  return Buffer.concat(parts().map(({ data }) => Buffer.from(String(data), "base64")));
}

test("a text over the limit is cut at a character, the whole is a blob of the scope (TOL-10, hard cases 7 and 32)", async () => {
  const { world, infer, answer, end } = await calling();
  const text = "😀é".repeat(40_000);
  const [kept, note, blob] = await answer([{ type: "text", text }]);
  assert.ok(text.startsWith(kept!.text!) && kept!.text!.isWellFormed());
  assert.ok(Buffer.byteLength(kept!.text!) > 120_000);
  assert.match(note!.text!, /^\[cut: 240000 bytes in all, limit 131072; the whole is kept as the blob that follows\]$/);
  assert.deepEqual([blob!.ref, blob!.size, blob!.mime_type], [refOf(text), 240_000, "text/plain"]);
  assert.equal((await bytesOf(world, infer, blob!.ref!)).toString(), text);
  await end();
});

test("results of no content, forty parts, bytes and an image: small ones as they are, large ones as blobs (TOL-10, BLB-1, hard case 32)", async () => {
  const cases: [string, unknown[], (shown: Blocks) => void][] = [
    ["nothing", [], (shown) => assert.deepEqual(shown, [])],
    ["an empty text", [{ type: "text", text: "" }], (shown) => assert.deepEqual(shown, [{ type: "text", text: "" }])],
    [
      "forty small parts",
      Array.from({ length: 40 }, (_, n) => ({ type: "text", text: `part ${n}` })),
      (shown) => assert.equal(shown.length, 40),
    ],
    [
      "forty texts that are too much together",
      Array.from({ length: 40 }, (_, n) => ({ type: "text", text: `${n}`.repeat(4000) })),
      (shown) => {
        assert.equal(shown.at(-1)!.type, "blob");
        assert.ok(shown.length > 10 && shown.length < 40);
      },
    ],
    ["a small image", [picture(1000)], (shown) => assert.deepEqual(shown, [picture(1000)])],
    [
      "an image of 300 KiB, and words",
      [
        { type: "text", text: "see:" },
        { ...picture(300_000), name: "a.png" },
      ],
      (shown) =>
        assert.deepEqual(shown, [
          { type: "text", text: "see:" },
          {
            type: "blob",
            ref: refOf(Buffer.alloc(300_000, "p")),
            mime_type: "image/png",
            size: 300_000,
            name: "a.png",
          },
        ]),
    ],
    [
      "bytes that are not base64",
      [{ ...picture(300_000), data: "ab cd".repeat(100_000) }],
      (shown) => assert.match(shown[0]!.text!, /^\[image \(image\/png\) of \d+ bytes left out: "data" is not base64/),
    ],
    [
      "thousands of parts with much around them",
      Array.from({ length: 900 }, () => ({ ...picture(3), mime_type: "x".repeat(900), junk: "y".repeat(100) })),
      (shown) => {
        assert.ok(JSON.stringify(shown).length < 131_072);
        assert.match(shown.at(-1)!.text!, /^\[644 more parts left out/);
      },
    ],
  ];
  for (const [what, content, check] of cases) {
    const { ui, answer, end } = await calling();
    const shown = await answer(content);
    check(shown);
    assert.ok(Buffer.byteLength(JSON.stringify(ui.last("tool_result"))) < 140_000, what);
    await end();
  }
});

test("what the blob limit or a quota does not let in is named with its size and the reason, and the call has its result (TOL-10, hard case 32)", async () => {
  const { answer, end } = await calling({ limits: { blobBytes: 200_000 } });
  const [kept, note, image] = await answer([{ type: "text", text: "x".repeat(250_000) }, picture(300_000)]);
  assert.ok(kept!.text!.length > 100_000);
  assert.match(
    note!.text!,
    /^\[cut: 250000 bytes .* the whole is not kept: a blob of 250000 bytes .* limit is 200000\]$/,
  );
  assert.match(image!.text!, /^\[image \(image\/png\) of 300000 bytes left out: a blob of 300000 bytes/);
  await end();
});

test("what a person sends above 256 KiB is passed on as a reference, to UIs, context and infer alike (BLB-1)", async () => {
  const world = new World();
  const context = await world.join("context");
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  const content = [picture(300_000), picture(10)];
  await ui.send({ event_type: "user_event", type: "message", scope: "u", id: "m1", content });
  await settled(world, () => ui.all("bb_ack").length > 0);
  const blob = { type: "blob", ref: refOf(Buffer.alloc(300_000, "p")), mime_type: "image/png", size: 300_000 };
  assert.deepEqual(ui.last("user_event")["content"], [blob, picture(10)]);
  const { id, history } = context.last("bb_context_render_request") as unknown as {
    id: string;
    history: { content: Blocks }[];
  };
  assert.deepEqual(history[0]!.content, [blob, picture(10)]);
  await context.send({ event_type: "bb_context_render_result", in_reply_to: id, success: true });
  const request = infer.last("bb_infer_request");
  assert.deepEqual((request["messages"] as typeof history)[0]!.content, [blob, picture(10)]);
  assert.equal((await bytesOf(world, infer, blob.ref)).length, 300_000);
  await infer.send({ ...inferResult(request), content: [picture(400_000, "q")] });
  await settled(world, () => ui.all("infer_chunk").length > 1);
  const [stop] = ui.all("infer_chunk");
  assert.deepEqual((stop!["block"] as { ref: string }).ref, refOf(Buffer.alloc(400_000, "q")));
  await world.end();
});

test("a reference to a blob that is not there refuses the input, and its size is the blob's own (BLB-7)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  const blob = (ref: string, size: number) => ({ type: "blob", ref, mime_type: "image/png", size });
  const say = (id: string, content: unknown[], scope = "u"): Event => ({
    event_type: "user_event",
    type: "message",
    scope,
    id,
    content,
  });
  await ui.send(say("m1", [blob(refOf("abc"), 3)]), message("m2", "u", { id: "m2" }));
  assert.deepEqual([ui.last("bb_error")["in_reply_to"], ui.last("bb_error")["code"]], ["m1", "not_found"]);
  assert.equal(ui.last("bb_ack")["in_reply_to"], "m2");
  await infer.send(inferResult(infer.last("bb_infer_request")));
  await ui.send({
    event_type: "bb_blob",
    id: "b",
    scope: "u",
    part: 0,
    last: true,
    data: Buffer.from("abc").toString("base64"),
  });
  await ui.send(say("m1", [blob(refOf("abc"), 4_000_000)]));
  assert.deepEqual((ui.last("user_event")["content"] as Blocks)[0]!.size, 3);
  const request = infer.last("bb_infer_request");
  const chunk = { event_type: "infer_chunk", in_reply_to: request["id"], kind: "block_stop", index: 0 };
  await infer.send({ ...chunk, block: blob(refOf("other"), 3) }, inferResult(request));
  const shown = ui.all("infer_chunk").findLast(({ kind }) => kind === "block_stop")!["block"] as Blocks[number];
  assert.match(shown.text!, /^\[left out: there is no blob sha256-/, "an answer is not lost for it");
  await ui.send(say("m3", [blob(refOf("abc"), 3)], "v"));
  assert.equal(ui.last("bb_error")["code"], "not_found", "nor is it found from another cell");
  await world.end();
});

test("what waits for its bytes keeps its place: the last words of a tool that leaves still count (CON-1, CON-7)", async () => {
  const { world, infer, source, ui, end } = await calling();
  const { call_id } = source.last("bb_tool_call_request");
  source.link.send({ event_type: "bb_tool_progress", call_id, text: "nearly" });
  source.link.send({ event_type: "bb_tool_call_result", call_id, success: true, content: [picture(2_000_000)] });
  source.link.send({ event_type: "bb_ping", id: "after" });
  await source.link.close("its work is done");
  await settled(world, () => ui.all("tool_result").length > 0);
  assert.deepEqual([ui.all("tool_progress").length, ui.last("tool_result")["status"]], [1, "ok"]);
  assert.equal(infer.all("bb_infer_request").length, 2);
  await end();
});

test("a store that does not answer ends an upload and a download after 30 s, and their places are free (BLB-4, ENV-10)", async () => {
  class Silent extends MemoryBlobs {
    override find(): Promise<never> {
      return new Promise(() => undefined);
    }
    override create(cell: string): ReturnType<MemoryBlobs["create"]> {
      return { ...super.create(cell), commit: () => new Promise(() => undefined) };
    }
  }
  const world = new World({ blobs: new Silent(), limits: { blobTransfers: 1 } });
  const ui = await world.join("ui");
  const upload = { event_type: "bb_blob", id: "b1", scope: "u", part: 0, last: true, data: "aGVsbG8g" };
  for (const event of [upload, { event_type: "bb_blob", id: "b2", scope: "u", ref: refOf("x") }]) {
    await ui.send(event);
    await world.pass(30_000);
    const { in_reply_to, code, retryable } = ui.last("bb_error");
    assert.deepEqual([in_reply_to, code, retryable], [event.id, "unavailable", true]);
  }
  await world.end();
});

test("a store that does not answer costs its sender 30 s and an error; the others do not notice (BLB-7, ENV-10)", async () => {
  class Silent extends MemoryBlobs {
    override find(): Promise<never> {
      return new Promise(() => undefined);
    }
  }
  const world = new World({ blobs: new Silent() });
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  const other = await world.join("ui", { name: "other" });
  const content = [{ type: "blob", ref: refOf("x"), mime_type: "image/png", size: 1 }];
  await ui.send({ event_type: "user_event", type: "message", scope: "u", id: "m1", content });
  await ui.send(message("behind it", "v", { id: "m2" }));
  await other.send(message("elsewhere", "w", { id: "m3" }));
  assert.deepEqual([ui.all("bb_ack").length, other.last("bb_ack")["in_reply_to"]], [0, "m3"]);
  await world.pass(30_000);
  assert.deepEqual([ui.last("bb_error")["in_reply_to"], ui.last("bb_error")["code"]], ["m1", "unavailable"]);
  assert.equal(ui.last("bb_ack")["in_reply_to"], "m2");
  for (const request of infer.all("bb_infer_request")) await infer.send(inferResult(request));
  await world.end();
});
