/** Floor of many scopes over HTTP: reads one stream, and says at its end how long its events took. */
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { readLines } from "../lines.ts";
import { reader } from "../pace.ts";

const { read, figure } = reader();
const [response] = (await once(get(process.argv[2]!), "response")) as [IncomingMessage];
readLines<{ delta: string }>(response, ({ delta }) => read(Number(delta)));
process.stdout.write(JSON.stringify(await figure) + "\n");
process.exit();
