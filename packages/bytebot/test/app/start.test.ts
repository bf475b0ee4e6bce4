import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import { ByteBot } from "../../src/index.ts";

test("a toolsource whose tools the Hub refuses fails at once, with the Hub's reason, though it goes on running (CON-11)", async () => {
  const lines = [
    { event_type: "bb_sync", kind: "toolsource" },
    {
      event_type: "bb_tool_register",
      id: "r",
      tools: [{ name: "read", input_schema: { properties: { path: { pattern: "(" } } } }],
    },
  ].map((event) => JSON.stringify(event));
  const script = `process.stdin.resume(); for (const line of ${JSON.stringify(lines)}) console.log(line);`;
  const hub = new ByteBot({ report: () => undefined });
  const command = [process.execPath, "-e", script];
  const { ready } = hub.attach({ name: "files", kind: "toolsource", entry: { type: "stdio", command } });
  await assert.rejects(hub.start(), /the schema of tool "read" of files is not usable/);
  await assert.rejects(ready, { code: "invalid_params" });
});

for (const entry of ["index.ts", "sdk/index.ts"]) {
  test(`on a Node that is too old, importing ${entry} says so in one sentence`, async () => {
    const asOld = `data:text/javascript,Object.defineProperty(process,"version",{value:"v20.11.0"})`;
    const file = new URL(`../../src/${entry}`, import.meta.url);
    const program = `await import(${JSON.stringify(file.href)}).catch(({ message }) => console.log(message))`;
    const args = ["--import", asOld, "--input-type=module", "-e", program];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    assert.equal(stdout, "bytebot needs Node 22.19 or later, and this is v20.11.0: get it from https://nodejs.org\n");
  });
}
