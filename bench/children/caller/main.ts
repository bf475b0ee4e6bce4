/** Calls the echo tool through the Hub, as the controller may; each lane of the load is a tenant of its own. */
import { randomUUID } from "node:crypto";
import * as bb from "bytebot/sdk";
import type { ToolCallResult } from "bytebot/wire";
import { reportTo } from "../../report.ts";
import { callWork } from "../../work.ts";

await bb.run(async ({ opts }) => {
  const caller = await bb.sync({ kind: "ui", controller: true, types: [] });
  const closed = caller.start();
  await reportTo(opts["report"], (begin) =>
    callWork(async (text, lane) => {
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
    }, begin),
  );
  await closed;
});
