/** Calls the echo tool through the Hub, as the controller may; each lane of the load is a tenant of its own. */
import { randomUUID } from "node:crypto";
import * as bb from "bytebot/sdk";
import type { ToolCallResult } from "bytebot/wire";
import { reportTo } from "../../report.ts";
import { callWork, CALLS, HTTP_CALLS } from "../../work.ts";

export const main: bb.Main = async ({ opts }) => {
  const caller = await bb.sync({ kind: "ui", controller: true, types: [] });
  const closed = caller.start();
  const call = async (text: string, lane: number) => {
    const request = {
      event_type: "bb_tool_call_request",
      name: "echo",
      input: { text },
      scope: `u_${lane}`,
    } as const;
    const result = (await caller.request({ ...request, id: randomUUID() })) as ToolCallResult;
    const block = result.content?.[0];
    if (!result.success || block?.type !== "text") throw new Error(`the call failed: ${JSON.stringify(result)}`);
    return block.text;
  };
  await reportTo(opts["report"], (begin) => callWork(call, begin, opts["http"] ? HTTP_CALLS : CALLS));
  await closed;
};

await bb.run(main);
