import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LineLink, listenSocket, type Link } from "../../src/transport/index.ts";
import { wide } from "../../src/wire/index.ts";
import { echo } from "../fixtures/echo.ts";
import { becomes } from "./ears.ts";
import { behavesAsAConnection } from "./suite.ts";

behavesAsAConnection("Unix socket", true, async (receiver, t) => {
  const folder = await mkdtemp(join(tmpdir(), "bytebot-socket-"));
  const path = join(folder, "app.sock");
  const near = Promise.withResolvers<Link>();
  const server = await listenSocket(path, (open) => near.resolve(open(receiver, new AbortController().signal)));
  t.after(async () => {
    await server.close();
    await rm(folder, { recursive: true });
  });
  const socket = connect(path);
  await once(socket, "connect");
  echo(
    (far) => {
      const end = (): Promise<void> => Promise.resolve(void socket.end());
      return new LineLink({ name: "the app", readable: socket, writable: socket, limits: wide, end }, far);
    },
    (bytes) => void socket.write(bytes),
  );
  return {
    link: await near.promise,
    stall: () => {
      socket.pause();
      return () => void socket.resume();
    },
    nothingLeft: () => becomes("the far end's socket is closed", () => socket.destroyed),
  };
});
