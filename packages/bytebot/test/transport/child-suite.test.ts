import { child } from "../../src/transport/index.ts";
import { becomes, type Ears } from "./ears.ts";
import { isRunning } from "./processes.ts";
import { behavesAsAConnection } from "./suite.ts";

const fixtures = new URL("../fixtures/", import.meta.url).pathname;

behavesAsAConnection("stdio", true, async (receiver) => {
  const ears = receiver as Ears;
  const command = ["node", "echo-child.ts"];
  const link = await child({ name: "echo", command, cwd: fixtures, env: {}, allowEnv: [], onStderr() {} })(
    receiver,
    new AbortController().signal,
  );
  const pid = Number((await ears.next("hello"))["pid"]);
  ears.events.length = 0;
  return {
    link,
    stall: () => {
      process.kill(pid, "SIGSTOP");
      return () => void process.kill(pid, "SIGCONT");
    },
    nothingLeft: () => becomes(`process ${pid} has ended`, () => !isRunning(pid), 0),
  };
});
