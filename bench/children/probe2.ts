import { rmSync } from "node:fs";
import { build, open, SCOPE } from "../reopen.ts";
const file = "/tmp/scratch/durb/r.db"; const load = { events: 100_000, of: "blocks" as const, ...(process.argv[3] ? { unlimited: true as const } : {}) };
if (process.argv[2] === "build") { for (const f of ["", "-wal", "-shm", "-lock"]) rmSync(file + f, { force: true }); await build(file, load, AbortSignal.timeout(100000)); }
else for (let n = 0; n < 6; n++) { const app = await open(file, load, 1); const s = performance.now(); const a = app.asked(), e = app.ended(); const ack = app.hub.send(SCOPE, "x").then(() => performance.now() - s); await a; const i = performance.now() - s; console.log("ack", (await ack).toFixed(0), "infer", i.toFixed(0)); await e; await app.hub.stop(); }
