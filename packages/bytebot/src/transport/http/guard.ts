import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { BytebotError } from "../../wire/index.ts";

export interface GuardOptions {
  /** Names this server may be called by, with or without a port; absent: on loopback its own, elsewhere any. */
  hosts?: readonly string[] | undefined;
  /** Web pages that may use it, as in "https://app.example"; absent: none but its own. */
  origins?: readonly string[] | undefined;
}

/**
 * Refuses what a web page of another origin, or one that had its name point here, makes a browser send (rule HTP-12).
 * `loopback`: the server is bound to this machine alone. Throws BytebotError `forbidden`.
 */
export function guard(request: IncomingMessage, { hosts, origins }: GuardOptions, loopback: boolean): void {
  const host = request.headers.host ?? "";
  if (!isAllowedHost(host, hosts, loopback)) {
    throw new BytebotError("forbidden", `the Host ${JSON.stringify(host.slice(0, 100))} is none of this server's`);
  }
  const { origin } = request.headers;
  const own = origin !== undefined && origin.replace(/^https?:\/\//, "") === host;
  if (origin !== undefined && !own && origins?.includes(origin) !== true) {
    throw new BytebotError("forbidden", `pages of ${JSON.stringify(origin.slice(0, 100))} may not use this server`);
  }
  const site = request.headers["sec-fetch-site"];
  if (origin === undefined && (site === "cross-site" || site === "same-site")) {
    throw new BytebotError("forbidden", "pages of another site may not use this server");
  }
}

function isAllowedHost(host: string, hosts: readonly string[] | undefined, loopback: boolean): boolean {
  const name = host.replace(/:\d+$/, "").toLowerCase();
  if (hosts) return hosts.some((each) => each.toLowerCase() === name || each.toLowerCase() === host.toLowerCase());
  return !loopback || name === "localhost" || isLoopback(name.replace(/^\[|\]$/g, ""));
}

/** Does an address, or "localhost", mean this machine alone? */
export function isLoopback(host: string): boolean {
  if (host === "localhost" || host === "::1") return true;
  return isIP(host) === 4 && host.startsWith("127.");
}
