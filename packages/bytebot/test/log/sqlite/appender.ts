import { openSqliteLog } from "../../../src/log/index.ts";

/**
 * A process that owns a log: says "open <generation>", then for each line of stdin `<cell> <expected> <id>` appends and
 * says `<id> <pos>` or `<id> <code> <retryable> <message>`. With `flood` as its second argument it appends to ten cells
 * as fast as it can and says each id that was acknowledged.
 */
const [file, mode] = process.argv.slice(2);

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function append(cell: string, expected: number, id: string): Promise<number | undefined> {
  try {
    const event = { event_type: "user_event", type: "message", scope: cell, text: id.repeat(20) };
    const { pos } = await log.append(cell, expected, { id, events: [event] });
    say(`${id} ${pos}`);
    return pos;
  } catch (error) {
    const { code, retryable, message } = error as { code: string; retryable: boolean; message: string };
    say(`${id} ${code} ${retryable} ${message}`);
    return undefined;
  }
}

async function flood(cell: string): Promise<void> {
  let pos: number | undefined = (await log.head(cell))?.pos ?? 0;
  while (pos !== undefined) pos = await append(cell, pos, `${cell}.${process.pid}.${pos + 1}`);
}

const { log } = await openSqliteLog({ file: file! }).catch((error: { code: string; message: string }) => {
  say(`refused ${error.code} ${error.message}`);
  process.exit(1);
});
say("open");
if (mode === "flood") for (let n = 0; n < 10; n++) void flood(`c${n}`);
else {
  let rest = "";
  for await (const chunk of process.stdin) {
    const lines = (rest + String(chunk)).split("\n");
    rest = lines.pop()!;
    for (const line of lines) {
      const [cell, expected, id] = line.split(" ");
      await append(cell!, Number(expected), id!);
    }
  }
  await log.close();
  say("closed");
}
