/** One satellite of a script in a process of its own: `node play.ts FOLDER two-rounds infer`; its lines go to a file there. */
import { appendFileSync } from "node:fs";
import { enableCompileCache } from "node:module";
import { join } from "node:path";

const [, , folder = "", name = "", role = ""] = process.argv;
// There are many of us, and each would compile the same again.
enableCompileCache(join(folder, "compiled"));
const { run } = await import("../../src/sdk/index.ts");
const { recorded, recordOf } = await import("./recorder.ts");
const { scripts } = await import("./scripts/index.ts");
const { cases } = await import("../cases/index.ts");

const { main } = [...scripts, ...cases]
  .find((script) => script.name === name)!
  .cast.find((each) => each.name === role)!;
const file = recordOf(folder, name, role);
await run(recorded(role, main, (line) => appendFileSync(file, `${JSON.stringify(line)}\n`)));
