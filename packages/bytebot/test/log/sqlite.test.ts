import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { openSqliteLog } from "../../src/log/index.ts";
import { logSuite } from "./suite.ts";

const folder = mkdtempSync(join(tmpdir(), "bytebot-log-"));
after(() => rmSync(folder, { recursive: true }));
let files = 0;

logSuite("sqlite", async () => (await openSqliteLog({ file: join(folder, `${++files}.db`) })).log);
