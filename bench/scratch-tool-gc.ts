/** scratch: CPU per call in each of the three processes, sequential and pipelined. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { ByteBot } from "bytebot";
import { childPath } from "./lines.ts";
import { createServer } from "node:net";
import { once } from "node:events";
import { readLines } from "./lines.ts";
import { execSync } from "node:child_process";

function cpu(pid: number) {
  let ns = 0, sw = 0;
  for (const t of readdirSync(`/proc/${pid}/task`)) {
    try {
      ns += Number(readFileSync(`/proc/${pid}/task/${t}/schedstat`, "latin1").split(" ")[0]);
      const st = readFileSync(`/proc/${pid}/task/${t}/status`, "latin1");
      sw += Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(st)![1]);
    } catch {}
  }
  return { ns, sw };
}
const server = createServer((socket) => {
  readLines<any>(socket, (m) => onMark(m));
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
const done = Promise.withResolvers<void>();
let pids: Record<string, number> = {};
let last: Record<string, {ns:number, sw:number}> = {};
const take = () => Object.fromEntries(Object.entries(pids).map(([n, p]) => [n, cpu(p)]));
function onMark(m: any) {
  if (m.pid) {
    pids = { hub: process.pid, caller: m.pid };
    const kids = execSync(`pgrep -P ${process.pid}`).toString().split("\n").filter(Boolean);
    for (const k of kids) try { if (readlinkSync(`/proc/${k}/cwd`).endsWith("children/tools")) pids["tools"] = Number(k); } catch {}
  }
  if (m.begin) last = take();
  if (m.end) {
    const now = take();
    const line = Object.keys(pids).map((n) => `${n} ${((now[n]!.ns - last[n]!.ns) / 1e3 / m.calls).toFixed(1)}µs/${((now[n]!.sw-last[n]!.sw)/m.calls).toFixed(2)}sw`);
    console.log(m.end.padEnd(10), line.join("  "), m.text);
  }
  if (m.done) done.resolve();
}
process.on("exit", () => console.error("hub", JSON.stringify(kinds), process.cpuUsage(), process.memoryUsage()));
import { PerformanceObserver } from "node:perf_hooks"; const kinds: any = {};  new PerformanceObserver((l) => { for (const e of l.getEntries() as any) { const k = kinds[e.detail.kind] ??= { n: 0, ms: 0 }; k.n++; k.ms += e.duration; } }).observe({ entryTypes: ["gc"] });
const hub = new ByteBot({ quotas: { events: 1_000_000, calls: 100 } });
hub.attach({ ref: childPath("scratch-tools") });
hub.attach({ ref: childPath("scratch-caller-prof"), opts: { report: (server.address() as any).port, seq: Number(process.argv[2] ?? 3000), pipe: Number(process.argv[3] ?? 30000) } }, { controller: true });
await hub.start();
await done.promise;
await hub.stop();
server.close();
