import { randomUUID } from "node:crypto";
import { connect } from "node:net";
import { once } from "node:events";
import * as bb from "bytebot/sdk";
import { setTimeout as sleep } from "node:timers/promises";
await bb.run(async ({ opts }) => {
  const caller = await bb.sync({ kind: "ui", controller: true, types: [] });
  const closed = caller.start();
  const socket = connect(Number(opts["report"]), "127.0.0.1");
  await once(socket, "connect");
  const say = async (m: object) => { socket.write(JSON.stringify(m) + "\n"); await sleep(60); };
  let made = 0;
  const call = async (lane: number) => {
    const text = `call ${made++} of the echo tool, with a line of text to carry there and back`;
    const request = { event_type: "bb_tool_call_request", name: "echo", input: { text }, scope: `u_${lane}` } as const;
    const result = (await caller.request({ ...request, id: randomUUID() })) as any;
    if (result.content?.[0].text !== text) throw new Error(JSON.stringify(result));
  };
  await say({ pid: process.pid });
  const seq = Number(opts["seq"]), pipe = Number(opts["pipe"]);
  for (let i = 0; i < 1000; i++) await call(0);
  const lanes = async (n: number) => { let left = n; await Promise.all(Array.from({ length: 100 }, async (_, l) => { while (left-- > 0) await call(l); })); };
  await lanes(10000);
  for (let r = 0; r < 2; r++) {
    await say({ begin: 1 });
    const times: number[] = [];
    for (let i = 0; i < seq; i++) { const t = performance.now(); await call(0); times.push((performance.now() - t) * 1e3); }
    times.sort((a, b) => a - b);
    await say({ end: "seq", calls: seq, text: `p10 ${times[seq / 10 | 0]!.toFixed(0)} p50 ${times[seq >> 1]!.toFixed(0)} µs` });
    await say({ begin: 1 });
    const t = performance.now();
    await lanes(pipe);
    await say({ end: "pipe", calls: pipe, text: `${(pipe / (performance.now() - t) * 1e3).toFixed(0)} calls/s` });
  }
  await say({ done: 1 });
  await closed;
});
