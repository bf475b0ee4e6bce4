import { openSqliteLog } from "../../../src/log/index.ts";
import { logSuite } from "../suite.ts";
import { freshFile } from "./files.ts";

logSuite("sqlite", async () => (await openSqliteLog({ file: freshFile() })).log);
