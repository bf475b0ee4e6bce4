import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import type { Blobs } from "../hub/index.ts";
import { BytebotError } from "../wire/index.ts";

const MIME = /^[\w.+-]+\/[\w.+-]+(?:; *charset=[\w-]+)?$/;

/** Which blob, and whose request it is. */
interface Which {
  connection: string | undefined;
  scope: string | null;
  ref: string;
}

/** `PUT` and `GET /blob/{ref}?scope=` (rule BLB-9): the same check of the scope as for `bb_blob`. Throws BytebotError. */
export async function serveBlob(
  blobs: Blobs,
  { connection, scope, ref }: Which,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (connection === undefined)
    throw new BytebotError("not_synced", "this connection has not said bb_sync, or has ended");
  if (scope === null) throw new BytebotError("invalid_params", "the scope is missing: ?scope= and the scope, encoded");
  const carried = blobs.carry(connection);
  const gone = new AbortController();
  response.once("close", () => {
    carried();
    gone.abort();
  });
  // Its socket ends when nothing moves for so long: a download that nobody reads, an upload that does not come (BLB-4).
  response.setTimeout(blobs.idleMs);
  if (request.method === "PUT") {
    const mimeType = request.headers["content-type"];
    const size = request.headers["content-length"];
    const kept = await blobs.put(connection, scope, ref, request as AsyncIterable<Uint8Array>, {
      mimeType,
      signal: gone.signal,
      ...(size === undefined ? {} : { size: Number(size) }),
    });
    response.writeHead(200, { "content-type": "application/json", "cache-control": "no-store" });
    response.end(`${JSON.stringify(kept)}\n`);
  } else if (request.method === "GET") {
    const { size, mimeType, stream } = await blobs.get(connection, scope, ref);
    response.writeHead(200, {
      "content-type": MIME.test(mimeType) ? mimeType : "application/octet-stream",
      "content-length": size,
      "cache-control": "private, no-store",
      // It is whatever somebody sent: a browser shall not run it as a page of ours.
      "x-content-type-options": "nosniff",
      "content-security-policy": "sandbox; default-src 'none'",
      "content-disposition": "attachment",
    });
    await pipeline(stream, response);
  } else {
    response.writeHead(405, { allow: "GET, PUT" });
    response.end();
    await once(response, "close");
  }
}
