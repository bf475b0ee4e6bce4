import { becomes } from "./ears.ts";
import { httpPair } from "./http.ts";
import { behavesAsAConnection } from "./suite.ts";

for (const serves of ["far", "near"] as const) {
  for (const format of ["ndjson", "sse"] as const) {
    const name = serves === "far" ? "HTTP that this side dials" : "HTTP that this side serves";
    behavesAsAConnection(`${name}, ${format}`, true, async (receiver, t) => {
      const pair = await httpPair(receiver, t, { serves, format });
      return {
        link: pair.near,
        stall: () => pair.network.stall(),
        nothingLeft: () => becomes("the serving side has forgotten the connection", () => pair.served === 0),
      };
    });
  }
}
