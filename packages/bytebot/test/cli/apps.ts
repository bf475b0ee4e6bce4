import { join } from "node:path";
import { pathToFileURL } from "node:url";

const dist = join(import.meta.dirname, "../../dist");
const manifest = (kind: string, command: string[]) => ({ schema_version: 1, kind, entry: { type: "stdio", command } });

/** Components for the folder of a test: a satellite that works, and those that do not. */
export const components = {
  tools: manifest("toolsource", ["node", join(dist, "cli/demo/child.js"), "toolsource"]),
  infer: manifest("infer", ["node", join(dist, "cli/demo/child.js"), "infer"]),
  context: manifest("context", ["node", join(dist, "cli/demo/child.js"), "context"]),
  /** Dies before it has said anything. */
  mute: manifest("infer", ["node", "-e", "console.error('no licence found'); process.exit(3)"]),
  /** Dies as soon as it has synced. */
  weak: manifest("infer", [
    "node",
    "-e",
    `console.log(JSON.stringify({ event_type: "bb_sync", kind: "infer" })); process.stdin.once("data", () => process.exit(3))`,
  ]),
  /** Ends neither with its input nor with TERM, and says so to nobody. */
  stubborn: manifest("infer", [
    "node",
    "-e",
    `process.on("SIGTERM", () => {}); setInterval(() => {}, 1e9); console.log(JSON.stringify({ event_type: "bb_sync", kind: "infer" }))`,
  ]),
};

/** The files of a folder with these components and an app that has them all. */
export function appOf(...names: (keyof typeof components)[]): Record<string, object> {
  const files = names.map((name) => [`${name}/bytebot.component.json`, components[name]]);
  return { "bytebot.app.json": { attach: names.map((name) => `./${name}`) }, ...Object.fromEntries(files) };
}

/** A module app whose person says "one" in scope u_1 and then "two" in u_2 at each SIGUSR2, and leaves after `turns` such rounds. */
export function askingModule(turns = Infinity): string {
  const from = (file: string) => JSON.stringify(pathToFileURL(join(dist, file)).href);
  return `import { ByteBot } from ${from("index.js")};
import * as bb from ${from("sdk/index.js")};
import { main as infer } from ${from("cli/demo/infer.js")};
import { main as toolsource } from ${from("cli/demo/toolsource.js")};

let left: number = ${turns};
const ui = async () => {
  const satellite = await bb.sync({ kind: "ui", inputCapable: true, primary: true });
  process.on("SIGUSR2", () => {
    void satellite.sendUserEvent("u_1", "one");
    void satellite.sendUserEvent("u_2", "two");
  });
  satellite.on("scope_state", ({ scope, state }) => {
    if (state === "idle" && --left === 0) void satellite.close("done");
  });
  await satellite.start();
};
const hub = new ByteBot({ ui: { main: ui, kind: "ui", name: "person" } });
hub.attachInfer({ main: infer, kind: "infer", name: "scripted" }, { primary: true });
hub.attach({ main: toolsource, kind: "toolsource", name: "files" });
export default hub;
`;
}
