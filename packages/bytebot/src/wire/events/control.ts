import { z } from "zod";
import { event, Id, reply } from "../envelope.ts";
import { PolicyRule } from "../policy.ts";
import { Kind } from "./connection.ts";

/** The owner's and the controller's events: what changes the app while it runs. */
export const Attach = event("bb_attach", {
  id: Id,
  ref: z.string().min(1),
  kind: Kind.optional(),
  opts: z.record(z.string(), z.unknown()).optional(),
  primary: z.boolean().optional(),
});
export type Attach = z.infer<typeof Attach>;
export const AttachResult = reply("bb_attach_result", { component_id: z.string().optional() });
export type AttachResult = z.infer<typeof AttachResult>;

export const Detach = event("bb_detach", { id: Id, component_id: z.string() });
export type Detach = z.infer<typeof Detach>;
export const DetachResult = reply("bb_detach_result", {});
export type DetachResult = z.infer<typeof DetachResult>;

/** Replaces all rules, or none (rule POL-3). */
export const Policy = event("bb_policy", { id: Id, rules: z.array(PolicyRule).max(1024) });
export type Policy = z.infer<typeof Policy>;
export const PolicyResult = reply("bb_policy_result", {});
export type PolicyResult = z.infer<typeof PolicyResult>;

export const Components = event("bb_components", { id: Id });
export type Components = z.infer<typeof Components>;

export const ComponentInfo = z.looseObject({
  component_id: z.string(),
  name: z.string(),
  kind: Kind,
  state: z.enum(["new", "synced", "closed"]),
  primary: z.boolean(),
  controller: z.boolean(),
});
export type ComponentInfo = z.infer<typeof ComponentInfo>;
export const ComponentsResult = reply("bb_components_result", { components: z.array(ComponentInfo).optional() });
export type ComponentsResult = z.infer<typeof ComponentsResult>;
