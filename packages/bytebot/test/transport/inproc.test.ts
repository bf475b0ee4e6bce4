import { inprocPair, type Link } from "../../src/transport/index.ts";
import { echo } from "../fixtures/echo.ts";
import { behavesAsAConnection } from "./suite.ts";

behavesAsAConnection("in-proc", false, (receiver) => {
  let near: Link | undefined;
  echo(
    (far) => {
      const pair = inprocPair("echo", receiver, far);
      near = pair.hub;
      return pair.satellite;
    },
    () => {},
  );
  return Promise.resolve({ link: near!, nothingLeft: () => Promise.resolve() });
});
