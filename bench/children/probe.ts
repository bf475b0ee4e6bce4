import { ByteBot } from "bytebot";
import { openInproc, runTurns } from "../inproc.ts";
import { QUOTAS } from "../ours.ts";
import { writeHeapSnapshot } from "node:v8";
const hub = await ByteBot.open({ file: process.argv[2]!, synchronous: "normal", quotas: QUOTAS });
await using app = await openInproc(hub);
const { signal } = new AbortController();
const say = (w: string) => { globalThis.gc?.(); globalThis.gc?.(); const m = process.memoryUsage(); console.log(w, Object.fromEntries(Object.entries(m).map(([k, v]) => [k, Math.round(v / 1024)]).filter(([k]) => k !== "x"))); console.log(JSON.stringify((hub as any).hub.counts())); };
say("start"); await runTurns(app, 2000, "warm", signal); say("warm");
for (let i = 0; i < 4; i++) { await runTurns(app, 10000, "used" + i, signal); say("used" + i); }
