import type { Main } from "../sdk/ambient.ts";
import type { Kind } from "../wire/index.ts";

interface Common {
  /** For people, tool ids and `infer` by name; default: from the manifest or the folder. */
  name?: string | undefined;
  /** Handed to the component's `main`; no secrets, those come by environment variables. */
  opts?: Record<string, unknown> | undefined;
  /** Environment variables of ours that it may read. */
  env?: readonly string[] | undefined;
  /** The scopes it may see; default: its manifest's, else all. */
  scopes?: readonly string[] | undefined;
}

/** A component by reference: a URL, a path relative to the app's `base`, or an installed package. */
export interface ByReference extends Common {
  ref: string;
  /** What it is, where it has no manifest that says so. */
  kind?: Kind | undefined;
  /** For a component reached by URL: the secret it asks for; default: the environment variable BYTEBOT_TOKEN. */
  token?: string | undefined;
}

/** A component in this process: its `main`, as it would be passed to `bb.run`. */
export interface InProcess extends Common {
  main: Main;
  kind?: Kind | undefined;
}

/** A component described here, as in a `bytebot.component.json`; its command runs in the app's `base`. */
export interface ByManifest extends Common {
  kind: Kind;
  entry: { type: "stdio"; command: string[] } | { type: "http"; stream: string; inbox: string };
  /** As for a component by reference. */
  token?: string | undefined;
}

export type Component = string | Main | ByReference | InProcess | ByManifest;

/** What the app grants beyond the defaults. */
export interface AttachOptions {
  primary?: boolean | undefined;
  controller?: boolean | undefined;
  /** Telemetry: message content too. */
  content?: boolean | undefined;
  /** Who its person is (rule PRN-2). */
  principal?: string | undefined;
  /** It serves several people, and says who they are; default: a ui that the app's code or config attaches. */
  vouches?: boolean | undefined;
  /** Its tools ask before they run, until a policy says otherwise. Default: those of a component reached by URL. */
  askFirst?: boolean | undefined;
}

/** `kind`: what it is attached as, where it does not say so itself. */
export function normalize(component: Component, kind?: Kind): ByReference | InProcess | ByManifest {
  if (typeof component === "string") return { ref: component, kind };
  if (typeof component === "function") return { main: component, kind };
  return component.kind === undefined ? { ...component, kind } : component;
}
