import type { Stage } from "../stage.ts";
import { TENANTS } from "../tenants.ts";
import { Actor } from "./actor.ts";
import { ContextActor } from "./context.ts";
import { DeskActor } from "./desk.ts";
import { InferActor } from "./infer.ts";
import { ToolActor } from "./tools.ts";
import { PoliteActor, ReloadActor, UiActor } from "./ui.ts";

class TelemetryActor extends Actor {
  protected hear(): void {
    // What it gets is for the checks to judge.
  }
}

/** Everybody of a run: shared satellites, and of each tenant its UIs; a toolsource and a telemetry of one tenant alone. */
export function castOf(stage: Stage): Actor[] {
  const { random } = stage;
  const shared: Actor[] = [
    new InferActor(stage, "infer", "brain", { primary: true }),
    new InferActor(stage, "infer", "spare"),
    new ToolActor(stage, "files", ["read", "write", "drop"]),
    new ToolActor(stage, "web", ["fetch", "post"]),
    new ToolActor(stage, "private", ["secret"], { scopes: ["tb"] }),
    new TelemetryActor(stage, "telemetry", "audit", { content: true }),
    new TelemetryActor(stage, "telemetry", "counter"),
    new TelemetryActor(stage, "telemetry", "of-ta", { content: true, scopes: ["ta"] }),
  ];
  if (stage.settings.context) shared.unshift(new ContextActor(stage, "context", "scribe", { primary: true }));
  const people = TENANTS.flatMap((tenant) => {
    const others = TENANTS.filter((other) => other !== tenant);
    const scopes = [`${tenant}/c1`, `${tenant}/c2`, tenant];
    return [
      new UiActor(stage, `ui-${tenant}`, tenant, scopes, others, {
        primary: tenant === "ta",
        principal: `owner-${tenant}`,
      }),
      random.pick([
        () => new UiActor(stage, `ui-${tenant}-2`, tenant, scopes, others, { principal: `guest-${tenant}` }),
        () => new PoliteActor(stage, `ui-${tenant}-2`, tenant, [`${tenant}/polite`], others),
        () => new ReloadActor(stage, `ui-${tenant}-2`, tenant, scopes, others),
      ])(),
    ];
  });
  const desk = new DeskActor(
    stage,
    TENANTS.map((tenant) => `${tenant}/c1`),
  );
  return [...shared, ...people, desk];
}
