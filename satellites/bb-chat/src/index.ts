import * as bb from "bytebot/sdk";
import { interactive } from "./interactive.tsx";
import { toOptions } from "./options.ts";
import { plain } from "./plain.ts";

/**
 * The chat satellite: on a terminal a conversation, without one (or with `once`) a text in and an answer out.
 * Settles when the person leaves or the connection closes; rejects where a turn without a terminal did not succeed.
 */
export async function main({ opts, signal }: Parameters<bb.Main>[0]): Promise<void> {
  const options = toOptions(opts);
  const terminal = process.stdin.isTTY && process.stdout.isTTY && options.once === undefined;
  const satellite = await bb.sync({
    kind: "ui",
    name: "chat",
    // Who declines everything must not come before the people at other screens.
    inputCapable: terminal || options.yes || !options.guest,
    primary: true,
    scopes: [options.scope],
    signal,
  });
  await (terminal ? interactive(satellite, options) : plain(satellite, options));
}
