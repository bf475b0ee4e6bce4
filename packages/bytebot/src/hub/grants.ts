import { within, type Kind, type Sync } from "../wire/index.ts";

/** What the app that attached a component, or a credential, lets it be. `bb_sync` can only narrow it (rule CON-3). */
export interface Offer {
  /** Belongs to the attachment: the same after a restart. */
  componentId: string;
  /** For people and for tool ids. */
  name: string;
  /** Its id is the connection's, made of this name: connected again it has another, and is the same (rule ENV-3). */
  passing?: string;
  kind?: Kind;
  /** Scopes, or "*" for all. */
  scopes: readonly string[];
  primary: boolean;
  controller: boolean;
  inputCapable: boolean;
  owner: boolean;
  /** Telemetry sees message content only where this is granted. */
  content: boolean;
  /** Its tools ask before they run until a policy says otherwise: what was reached by URL or slug. */
  askFirst: boolean;
  /** Who its person is; undefined: nobody in particular (rule PRN-2). */
  principal: string | undefined;
  /** It serves several people, and says itself who they are. */
  vouches: boolean;
}

/** What a synced connection may do. */
export interface Grant {
  kind: Kind;
  scopes: readonly string[];
  types: ReadonlySet<string> | undefined;
  primary: boolean;
  controller: boolean;
  inputCapable: boolean;
  owner: boolean;
  content: boolean;
  askFirst: boolean;
  principal: string | undefined;
  vouches: boolean;
  /** It was offered the controller's role, also where it declined it or another holds it; or it is the owner (rule TOK-1). */
  mayMint: boolean;
  capabilities: Readonly<Record<string, unknown>>;
}

export function offer(fields: Partial<Offer> & { componentId: string; name: string }): Offer {
  return {
    scopes: ["*"],
    primary: true,
    controller: true,
    inputCapable: true,
    owner: false,
    content: false,
    askFirst: false,
    principal: undefined,
    vouches: false,
    ...fields,
  };
}

/** The offer, narrowed by what the component says it is; `taken` says which roles another connection holds. */
export function narrow(
  from: Offer,
  sync: Sync,
  scopes: readonly string[],
  taken: { primary: boolean; controller: boolean },
): Grant {
  const owner = from.owner && sync.owner === true && sync.kind === "ui";
  const mayControl = (sync.kind === "ui" || sync.kind === "context") && !owner && from.controller;
  return {
    kind: sync.kind,
    scopes,
    types: sync.types && new Set(sync.types),
    primary: from.primary && sync.primary !== false && !taken.primary,
    controller: mayControl && sync.controller !== false && !taken.controller,
    inputCapable: sync.kind === "ui" && from.inputCapable && sync.input_capable !== false,
    owner,
    content: from.content,
    askFirst: from.askFirst,
    principal: from.principal,
    vouches: from.vouches,
    mayMint: mayControl || owner,
    capabilities: sync.capabilities ?? {},
  };
}

/** May it send, and be sent, this type of the controller's? Tokens need the role alone, which only one can hold. */
export function isController({ controller, owner, mayMint }: Grant, type: string): boolean {
  return controller || owner || (mayMint && (type === "bb_token" || type === "bb_token_result"));
}

/**
 * May this connection touch this scope? The one check of append, read, replay, subscribe, interrupt and answer
 * (rule SCP-7); the sink has another of its own.
 */
export function mayTouch(connection: { grant: Grant }, scope: string): boolean {
  return within(connection.grant.scopes, scope);
}
