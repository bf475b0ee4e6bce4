import { BytebotError } from "../wire/index.ts";

/** What a component reference names, by its spelling alone: nothing is looked up here. */
export type Reference =
  | { type: "url"; url: string }
  | { type: "path"; path: string }
  | { type: "slug"; owner: string; name: string; commit?: string }
  | { type: "package"; name: string };

const URL_START = /^https?(?:\+unix)?:\/\//i;
/** `.`, `..`, `./x`, `/x`, `~/x`, `C:\x`, `\\server\x`. */
const PATH = /^(?:\.|\/|~(?:[/\\]|$)|[A-Za-z]:[/\\]|\\)/;
const PACKAGE = /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/i;
const SLUG = /^([A-Za-z0-9](?:[A-Za-z0-9-]{0,38}))\/([A-Za-z0-9._-]{1,100})(?:#([A-Za-z0-9._/-]{1,100}))?$/;

/** Throws BytebotError `invalid_params` where the text is none of the four. */
export function parseReference(ref: string): Reference {
  if (ref.includes("\0")) throw noReference(ref);
  if (URL_START.test(ref)) {
    if (!URL.canParse(ref))
      throw new BytebotError("invalid_params", `${JSON.stringify(ref)} is no URL: check its host and port`);
    return { type: "url", url: ref };
  }
  if (PATH.test(ref)) return { type: "path", path: ref };
  if (PACKAGE.test(ref)) return { type: "package", name: ref };
  const [, owner, name, commit] = SLUG.exec(ref) ?? [];
  if (owner === undefined || name === undefined) throw noReference(ref);
  return commit === undefined ? { type: "slug", owner, name } : { type: "slug", owner, name, commit };
}

function noReference(ref: string): BytebotError {
  const said = ref === "" ? "an empty text" : JSON.stringify(ref.slice(0, 200));
  const message = `${said} is no component reference: write a path ("./context"), an installed package ("bb-infer") or a URL ("http://site:8081")`;
  return new BytebotError("invalid_params", message);
}
