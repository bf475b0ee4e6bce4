import * as bb from "bytebot/sdk";
import { calculate } from "./calculate.ts";
import { currentTime } from "./current-time.ts";
import { Folder } from "./folder.ts";
import { listFiles, readFile } from "./files.ts";
import { toOptions } from "./options.ts";

/** The toolsource: `current_time`, `calculate`, and with the option "root" also `list_files` and `read_file` below it. */
export async function main({ opts, signal }: Parameters<bb.Main>[0]): Promise<void> {
  const { root, hidden } = toOptions(opts);
  const folder = root === undefined ? undefined : await Folder.open(root, hidden);
  const satellite = await bb.sync({ kind: "toolsource", name: "bb-tools", signal });
  satellite.tool(currentTime);
  satellite.tool(calculate);
  if (folder) {
    satellite.tool(listFiles(folder));
    satellite.tool(readFile(folder));
  }
  await satellite.start();
}
