import { randomUUID } from "node:crypto";
import { MANIFEST_FILE, parseManifest, type HttpEntry, type Manifest } from "../resolve/index.ts";
import { answerOf, assertToken, Client, DialedLink, isLines, tokenOfEnv, type Connect } from "../transport/index.ts";
import { BytebotError } from "../wire/index.ts";
import type { ByReference } from "./component.ts";
import type { Reached } from "./reached.ts";

const MANIFEST_BYTES = 256 * 1024;
const MANIFEST_MS = 5000;

interface Credentials {
  token?: string | undefined;
  publicOnly?: boolean | undefined;
}

/**
 * A component behind a URL: by the manifest it serves there, else at `/stream` and `/inbox` at once, and its `bb_sync`
 * says what it is. Throws BytebotError `forbidden` where its manifest names another server, or the address is refused.
 */
export async function reachUrl(component: ByReference, ref: string, credentials: Credentials): Promise<Reached> {
  const base = new URL(ref);
  const at = base.pathname.endsWith(".json") ? base : below(base, MANIFEST_FILE);
  const manifest = await manifestAt(at, credentials);
  const is = {
    name: component.name ?? manifest?.name ?? nameOf(base),
    kind: manifest?.kind ?? component.kind,
    scopes: component.scopes ?? manifest?.scopes,
  };
  return dialed(is, manifest ? entryOf(manifest, at) : entryAt(base), credentials);
}

/** What the Hub dials: `GET` of the stream under an id of ours, `POST` to the inbox. */
export function dialed(
  is: Pick<Reached, "name" | "kind" | "scopes">,
  { stream, inbox }: HttpEntry,
  credentials: Credentials,
): Reached {
  const { publicOnly } = credentials;
  const token = tokenFor(credentials);
  const connect: Connect = async (receiver, signal) => {
    const options = { name: is.name, stream, inbox, token, publicOnly, connection: randomUUID() };
    const link = new DialedLink(options, receiver);
    await link.open(signal);
    return link;
  };
  return { ...is, restartable: true, remote: true, http: { stream, inbox, token }, connect };
}

async function manifestAt(url: URL, credentials: Credentials): Promise<Manifest | undefined> {
  const client = new Client({ token: tokenFor(credentials), publicOnly: credentials.publicOnly });
  try {
    const response = await client.send(url, { method: "GET", signal: AbortSignal.timeout(MANIFEST_MS) });
    // Some servers answer every path with a page.
    if (response.statusCode !== 200 || !isLines(response.headers["content-type"] ?? "")) return undefined;
    return parseManifest(parseJson(await answerOf(url, response, MANIFEST_BYTES), url), url.href);
  } catch (error) {
    // Not there yet: the connection itself finds out. A bad manifest is the author's to mend.
    const { code } = BytebotError.from(error);
    if (code === "unavailable" || code === "cancelled") return undefined;
    throw error;
  } finally {
    client.close();
  }
}

function parseJson(text: string, url: URL): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new BytebotError("invalid_params", `${url.href} is no JSON: ${(error as Error).message}`, { cause: error });
  }
}

/** The app's own secret is for servers that its own code or config names. Throws `invalid_params` where no header carries it. */
function tokenFor({ token, publicOnly }: Credentials): string | undefined {
  if (token !== undefined) assertToken(token, `the component's "token"`);
  return token ?? (publicOnly === true ? undefined : tokenOfEnv("BYTEBOT_TOKEN"));
}

/** Relative to where it was found; a server may speak for itself alone: its manifest does not send our token elsewhere. */
function entryOf({ entry }: Manifest, at: URL): HttpEntry {
  if (entry.type !== "http") {
    throw new BytebotError(
      "invalid_params",
      `${at.href}: the manifest's "entry.type" is "${entry.type}": behind a URL it has to be "http"`,
    );
  }
  const urls = { stream: new URL(entry.stream, at), inbox: new URL(entry.inbox, at) };
  for (const [name, url] of Object.entries(urls)) {
    if (url.protocol === at.protocol && url.host === at.host) continue;
    throw new BytebotError(
      "forbidden",
      `${at.href}: the manifest's "entry.${name}" names another server, ${url.host}: attach that one by its own URL`,
    );
  }
  return { type: "http", ...urls };
}

function entryAt(base: URL): HttpEntry {
  return { type: "http", stream: below(base, "stream"), inbox: below(base, "inbox") };
}

function below(base: URL, name: string): URL {
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/\/$/, "")}/${name}`;
  return url;
}

function nameOf(base: URL): string {
  const host = decodeURIComponent(base.hostname).replace(/^.*\//, "");
  return host.replaceAll(/[^\w.-]/g, "-").slice(0, 64) || "remote";
}
