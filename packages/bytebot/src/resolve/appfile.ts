import { dirname, resolve as absolute } from "node:path";
import { z } from "zod";
import { BytebotError, kinds, modes, PolicyRule, Principal, ScopePattern, whyUnusable } from "../wire/index.ts";
import { parseAs, readJson } from "./jsonfile.ts";
import { EnvNames } from "./manifest.ts";
import { nearest } from "./nearest.ts";
import { parseReference } from "./reference.ts";

export const APP_FILE = "bytebot.app.json";

const Ref = z
  .string({ error: `a component reference is needed, as in "./context", or an object with a "ref"` })
  .superRefine((ref, context) => {
    try {
      parseReference(ref);
    } catch (error) {
      context.addIssue({ code: "custom", message: BytebotError.from(error).message });
    }
  })
  .describe("A URL, a path relative to this file, or an installed package.");

const component = {
  ref: Ref,
  opts: z.record(z.string(), z.unknown(), { error: "an object is needed" }).optional(),
  env: EnvNames.optional(),
};
const Component = z.union([Ref, known(component)], {
  error: `a component reference is needed, as in "./context", or an object with a "ref"`,
});
const Infer = z.union(
  [Ref, known({ ...component, primary: z.boolean({ error: "true or false is needed" }).optional() })],
  {
    error: `a component reference is needed, as in "bb-infer", or an object with a "ref"`,
  },
);

const Rule = PolicyRule.superRefine((rule, context) => {
  const why = whyUnusable(rule);
  if (why !== undefined) context.addIssue({ code: "custom", message: why });
});

const amount = z.int({ error: "a whole number from 1 on is needed" }).min(1).optional();
const amounts = { events: amount, bytes: amount };

/** bytebot.app.json: the components of an app, and what holds for them. */
export const AppFile = known({
  $schema: z.string().optional(),
  ui: Component.optional(),
  context: Component.optional(),
  infer: z.array(Infer, { error: `a list is needed, as in [{ "ref": "bb-infer", "primary": true }]` }).optional(),
  attach: z.array(Component, { error: `a list of references is needed, as in ["./ingest"]` }).optional(),
  policy: z
    .array(Rule, { error: `a list of rules is needed, as in [{ "tool": "*", "decision": "ask" }]` })
    .describe("The last rule that matches a tool decides.")
    .optional(),
  input: z
    .array(
      known({
        scope: ScopePattern.default("*"),
        mode: z.enum(modes, { error: `"queue", "steer", "replace" or "refuse" is needed` }),
      }),
      {
        error: `a list of rules is needed, as in [{ "scope": "*", "mode": "steer" }]`,
      },
    )
    .describe(
      "What becomes of input that comes while a turn runs and names no mode; the last rule that matches counts.",
    )
    .optional(),
  listen: known({
    host: z.string({ error: `a host is needed, as in "127.0.0.1"` }).default("127.0.0.1"),
    port: z.int({ error: "a port from 0 to 65535 is needed" }).min(0).max(65535),
    hosts: z.array(z.string()).describe("Names the server may be called by; absent: on loopback its own.").optional(),
    origins: z.array(z.string()).describe("Web pages that may use it, as in https://app.example.").optional(),
    https: z.boolean().describe("A proxy in front of it speaks https.").optional(),
    tokens: z
      .array(
        known({
          name: z.string().regex(/^[\w.@:-]{1,64}$/, "a name is 1 to 64 letters, digits and _.@:-"),
          kind: z.enum(kinds).optional(),
          scopes: z.array(ScopePattern).optional(),
          principal: Principal.describe("Who its bearer is.").optional(),
          vouches: z.boolean().describe("It serves several people, and says itself who they are.").optional(),
          controller: z.boolean().describe("It may have the owner's events; absent: no.").optional(),
          env: z.string().min(1).describe("The environment variable that holds the token."),
        }),
        { error: `a list is needed, as in [{ "name": "phone", "env": "PHONE_TOKEN" }]` },
      )
      .describe("Who may dial in; absent: whoever has BYTEBOT_TOKEN.")
      .default([]),
  }).optional(),
  log: z
    .string({ error: `"memory" or a file's path is needed` })
    .min(1)
    .describe(`"memory", or the log's file; absent: bytebot.db beside this file.`)
    .optional(),
  retention: known({ ...amounts, scopes: z.record(z.string(), known(amounts)).optional() })
    .describe("How much of each conversation the log keeps; otherwise for some scopes and what is below them.")
    .optional(),
  recovery: z
    .enum(["resume", "end", "wait"], { error: `"resume", "end" or "wait" is needed` })
    .describe("What becomes of turns that were cut off; absent: they are resumed.")
    .optional(),
});
export type AppFile = z.infer<typeof AppFile>;

/** One component of an app, whichever way the file spelled it. */
export interface AppComponent {
  ref: string;
  opts?: Record<string, unknown> | undefined;
  env?: string[] | undefined;
  primary?: boolean | undefined;
}

/** Where the app serves HTTP, and to whom. */
export type Listen = NonNullable<AppFile["listen"]>;

/** An app file as read: `base` is its folder, against which its references are resolved. */
export interface App {
  file: string;
  base: string;
  ui?: AppComponent;
  context?: AppComponent;
  infer: AppComponent[];
  attach: AppComponent[];
  policy: PolicyRule[];
  input?: AppFile["input"];
  listen?: Listen;
  log?: string;
  retention?: AppFile["retention"];
  recovery?: AppFile["recovery"];
}

/** Reads an app file. Throws BytebotError `not_found`, or `invalid_params` naming the field and the fix. */
export async function readApp(path: string): Promise<App> {
  const file = absolute(path);
  const {
    ui,
    context,
    infer = [],
    attach = [],
    policy = [],
    input,
    listen,
    log,
    retention,
    recovery,
  } = parseAs(AppFile, await readJson(file), file);
  const app: App = {
    file,
    base: dirname(file),
    infer: infer.map(asComponent),
    attach: attach.map(asComponent),
    policy,
  };
  if (app.infer.filter(({ primary }) => primary).length > 1) {
    throw new BytebotError(
      "invalid_params",
      `${file}: "infer": two are "primary": leave it on the one that answers by default`,
    );
  }
  if (ui) app.ui = asComponent(ui);
  if (context) app.context = asComponent(context);
  if (input) app.input = input;
  if (listen) app.listen = listen;
  if (log) app.log = log;
  if (retention) app.retention = retention;
  if (recovery) app.recovery = recovery;
  return app;
}

function asComponent(component: string | AppComponent): AppComponent {
  return typeof component === "string" ? { ref: component } : component;
}

/** An object of these keys alone: a key misspelt here would be a setting that silently does nothing. */
export function known<Shape extends z.ZodRawShape>(shape: Shape) {
  const keys = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) => {
      if (issue.code !== "unrecognized_keys") return "a JSON object is needed";
      const key = issue.keys[0] ?? "";
      const meant = nearest(key, keys);
      const list = keys.filter((name) => name !== "$schema").join(", ");
      return `unknown key ${JSON.stringify(key)}: ${meant ? `did you mean "${meant}"?` : `known are ${list}`}`;
    },
  });
}
