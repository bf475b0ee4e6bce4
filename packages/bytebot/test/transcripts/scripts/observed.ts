import * as bb from "../../../src/sdk/index.ts";
import type { Role } from "../script.ts";
import { script } from "../script.ts";
import { twoRounds } from "./two-rounds.ts";

const telemetry: Role = {
  name: "log",
  kind: "telemetry",
  main: async ({ signal }) => {
    const satellite = await bb.sync({ kind: "telemetry", signal });
    await satellite.start();
  },
};

export const telemetryWatches = script({
  name: "telemetry",
  about:
    "The same two rounds, watched by a telemetry without the content grant: everything that passes, and no word of it.",
  cast: [telemetry, ...twoRounds.cast],
});
