import type { Grant as Granted } from "../hub/index.ts";
import { BytebotError, within, type TokenGrant } from "../wire/index.ts";
import type { Grant } from "./credentials.ts";

/**
 * What a token made by this connection may be: what was asked for, where its maker may be all of that itself; what was not
 * asked for is its maker's, or nothing. Throws `forbidden`, which names the field (rule TOK-1). The app's own may make any.
 */
export function grantFrom(maker: Granted, asked: TokenGrant): TokenGrant {
  if (maker.owner) return asked;
  const { kind = "ui", scopes = [...maker.scopes], principal = maker.principal } = asked;
  // What it could not be itself, a UI of its scopes and counts of them apart.
  if (kind !== maker.kind && kind !== "ui" && kind !== "telemetry") throw wider("kind", `"${kind}"`);
  const outside = scopes.find((scope) => (scope === "*" ? !maker.scopes.includes("*") : !within(maker.scopes, scope)));
  if (outside !== undefined) throw wider("scopes", `"${outside}"`);
  if (principal !== maker.principal && !maker.vouches) throw wider("principal", `"${String(principal)}"`);
  const { vouches = false, primary = false, controller = false, content = false } = asked;
  const { input_capable = maker.inputCapable } = asked;
  const roles = { vouches, primary, controller, content, input_capable };
  const own = { ...maker, controller: maker.mayMint, input_capable: maker.inputCapable };
  for (const role of Object.keys(roles) as (keyof typeof roles)[])
    if (roles[role] && !own[role]) throw wider(role, "true");
  const { name } = asked;
  return {
    ...{ kind, scopes, ...roles },
    ...(name === undefined ? {} : { name }),
    ...(principal === undefined ? {} : { principal }),
  };
}

function wider(field: string, value: string): BytebotError {
  const message = `a token is never wider than its maker: "${field}": ${value} is more than this connection was granted`;
  return new BytebotError("forbidden", message);
}

/** As the app's own code would say it. */
export function toAppGrant({ name = "", input_capable, primary = false, ...same }: TokenGrant): Grant {
  return { name, primary, ...same, ...(input_capable === undefined ? {} : { inputCapable: input_capable }) };
}
