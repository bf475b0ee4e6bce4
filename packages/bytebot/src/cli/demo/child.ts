/** One of the demo's satellites as a process of its own: `node child.js infer`. */
import { run } from "../../sdk/index.ts";
import { main as context } from "./context.ts";
import { main as infer } from "./infer.ts";
import { main as toolsource } from "./toolsource.ts";
import { main as ui } from "./ui.ts";

const mains = { context, infer, toolsource, ui };

await run(mains[process.argv[2] as keyof typeof mains]);
