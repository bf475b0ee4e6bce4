import { createInterface } from "node:readline";
import { ByteBot, openSqliteLog, type ByteBotOptions } from "bytebot";

/**
 * A Hub in a process of its own, on a log on the disk, to which everybody dials in: says "listening <url>". A line of
 * stdin such as `unheard 5` has it kill itself at the fifth append from then on, and is answered with "armed". The end
 * of stdin ends the app as its owner does.
 */
export interface HubOptions extends Pick<ByteBotOptions, "recovery" | "limits" | "policy"> {
  file: string;
  port: number;
  /** Who may dial in: each by its name, with the token `<name>-token`. */
  names: readonly string[];
  /** What the file may take, in bytes. */
  maxBytes?: number;
}

/** Before it is committed; before the Hub hears that it was; when the Hub has sent what follows from it. */
export type Moment = "uncommitted" | "unheard" | "heard";

const { file, port, names, maxBytes, ...options } = JSON.parse(process.argv[2]!) as HubOptions;
const kept = await openSqliteLog({ file, ...(maxBytes === undefined ? {} : { maxBytes }) });
const { log } = kept;

let at = 0;
let moment: Moment = "uncommitted";
const append = log.append.bind(log);
log.append = async (...args) => {
  const dies = --at === 0;
  if (dies && moment === "uncommitted") die();
  const place = await append(...args);
  if (dies && moment === "unheard") die();
  if (dies) setImmediate(die);
  return place;
};

function die(): void {
  process.kill(process.pid, "SIGKILL");
}

const hub = new ByteBot({ ...kept, ...options });
for (const name of names) hub.addToken({ name }, `${name}-token`);
await hub.start();
console.log(`listening ${await hub.serveHttp({ port })}`);

for await (const line of createInterface({ input: process.stdin })) {
  const [word, count] = line.split(" ");
  moment = word as Moment;
  at = Number(count);
  console.log("armed");
}
await hub.stop();
