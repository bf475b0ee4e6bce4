import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import * as bb from "../../src/sdk/index.ts";
import { appOf } from "../cli/apps.ts";
import { Cli, eventually, folder, leftOf } from "../cli/cli.ts";
import { Person, Script, Tools } from "./crew.ts";
import { HubProcess, Site } from "./site.ts";

const timeout = 120_000;

/** T: it was stopped. */
const stateOf = (pid: number): string => /\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))![1]!;

test(
  "a Hub that is stopped in mid-turn keeps its log from another, and goes on where it was when it is continued (DUR-2, hard case 35)",
  { timeout },
  async (t) => {
    const [site, person, script, tools] = [new Site(t), new Person(), new Script(), new Tools()];
    await site.up();
    site.dial("tools", tools.main);
    site.dial("infer", script.main);
    site.dial("ui", person.main);
    await script.until(() => script.synced === 1, "the infer");
    const second = async (): Promise<void> => {
      const other = new HubProcess({ file: site.file, port: 0, names: [] });
      assert.equal(await other.ended, 1);
      assert.match(other.err, /conflict|in use/);
      assert.match(other.err, new RegExp(`in use by process ${site.hub.child.pid} `));
    };
    const { promise, resolve } = Promise.withResolvers<void>();
    script.pause = () => promise;
    await person.say("u", "use the tools.", "m_1");
    await person.until(() => person.text("u") === "let ", "the first word");
    await second();
    site.hub.child.kill("SIGSTOP");
    await eventually(() => stateOf(site.hub.child.pid!) === "T");
    resolve();
    const said = person.say("u", "and this.", "m_2");
    await second();
    site.hub.child.kill("SIGCONT");
    await said;
    await person.sawEnds("u", 2);
    assert.equal(person.text("u").split("\n").at(-1), "all done");
    assert.deepEqual([tools.of("u", "look").length, tools.of("u", "write").length], [1, 1]);
    await site.down();
    await site.check();
  },
);

test(
  "bytebot run keeps its log beside the app file and on the disk; killed, it leaves no children, and started again it ends the turn that was cut off and takes the next (DUR-1, REC-4)",
  { timeout },
  async (t) => {
    const files = appOf("tools", "infer", "context");
    const policy = [{ tool: "*", decision: "allow" }];
    const cwd = await folder(t, { ...files, "bytebot.app.json": { ...files["bytebot.app.json"], policy } });
    const env = { TMPDIR: cwd, BYTEBOT_TOKEN: "ours" };
    const ends: string[] = [];
    let cursor: string | undefined;
    const life = async (id: string, { killed }: { killed: boolean }): Promise<string[]> => {
      const cli = new Cli(t, ["run", "--listen", "0"], { cwd, env });
      await cli.until("where it listens", ({ err }) => /listening on \S+.*\n/.test(err));
      const seen: string[] = [];
      const main: bb.Main = async () => {
        const ui = await bb.sync({ kind: "ui", resume: cursor ?? "start" });
        ui.on("*", (event) => {
          if (typeof event["cursor"] === "string" && event["seq"] !== undefined) seen.push((cursor = event["cursor"]));
          if (event["kind"] === "loop_done") ends.push(String(event["stop_reason"]));
          if (killed ? event["kind"] === "block_delta" : ends.length === 2) void ui.close();
        });
        const started = ui.start();
        await ui.sendUserEvent("u_1", `hello ${id}`, { id });
        await started;
      };
      await bb.dialHttp(main, { url: /listening on (\S+?),/.exec(cli.err)![1]!, token: "ours" });
      cli.kill(killed ? "SIGKILL" : "SIGTERM");
      await cli.done;
      // What the killed one started ends by itself.
      await eventually(() => leftOf(cwd).length === 0);
      return seen;
    };
    const first = await life("m_1", { killed: true });
    const second = await life("m_2", { killed: false });
    assert.deepEqual(ends, ["end_turn", "end_turn"]);
    const cursors = [...first, ...second];
    assert.equal(new Set(cursors).size, cursors.length, "nothing twice");
    const db = join(cwd, "bytebot.db");
    const { code, out } = await new Cli(t, ["log", "verify", "--db", db]).done;
    assert.equal(code, 0, out);
    assert.match(out, /synchronous=FULL\nnothing is wrong\n$/);
    const shown = (await new Cli(t, ["log", "export", "--db", db]).done).out;
    for (const id of ["m_1", "m_2"]) assert.equal(shown.split(`"id":"${id}"`).length - 1, 1, id);
  },
);
