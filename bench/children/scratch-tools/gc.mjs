import { PerformanceObserver } from "node:perf_hooks";
const kinds = {}; 
new PerformanceObserver((l) => { for (const e of l.getEntries()) { const k = kinds[e.detail.kind] ??= { n: 0, ms: 0 }; k.n++; k.ms += e.duration; } }).observe({ entryTypes: ["gc"] });
process.on("exit", () => console.error(process.argv[2], JSON.stringify(kinds), process.cpuUsage(), process.memoryUsage()));
await import("./main.ts");
