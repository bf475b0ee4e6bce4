/** Runs one of the components here over HTTP: `{serve}` waits for its Hub, `{dial}` goes to it. */
import * as bb from "bytebot/sdk";
import { tell, untilTold } from "./serving.ts";

export type OverHttp = { component: string; opts?: Record<string, unknown>; token: string } & (
  { serve: true } | { dial: string; format?: "ndjson" | "sse" }
);

const how = JSON.parse(process.argv[2]!) as OverHttp;
const signal = untilTold();
const { main } = (await bb.loadInproc(() => import(`./${how.component}/main.ts`))) as { main: bb.Main };
const common = { opts: how.opts, token: how.token, signal };
if ("serve" in how) {
  const serving = await bb.serveHttp(main, common);
  tell(serving.url);
  await serving.closed;
} else await bb.dialHttp(main, { ...common, url: how.dial, format: how.format });
