import { duplexPair, type Duplex } from "node:stream";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { offer, type Attached } from "../../src/hub/index.ts";
import { LineLink } from "../../src/transport/lines.ts";
import type { World } from "../hub/world.ts";

/** A UI over a pair of streams that hold nothing back: what it has not taken, the Hub still has. */
export async function held(world: World, name: string): Promise<{ attached: Attached; far: Duplex }> {
  const [near, far] = duplexPair();
  const end = async (): Promise<void> => void near.destroy();
  const attached = await world.hub.connect(
    offer({ componentId: name, name, kind: "ui" }),
    async (receiver) => new LineLink({ name, readable: near, writable: near, end }, receiver),
    new AbortController().signal,
  );
  far.write(`{"event_type":"bb_sync","kind":"ui"}\n`);
  await attached.ready;
  return { attached, far };
}

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Bytes in use, garbage aside. */
export function memory(): number {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
