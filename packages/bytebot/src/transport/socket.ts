import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { chmod, lstat, rename, unlink } from "node:fs/promises";
import { createServer, connect, type Server, type Socket } from "node:net";
import { dirname } from "node:path";
import { BytebotError, wide, type LineLimits } from "../wire/index.ts";
import { assertOwn, ownFolder } from "./folder.ts";
import { LineLink } from "./lines.ts";
import type { Connect, Receiver } from "./link.ts";

/** What a peer that does not hang up may take, in milliseconds. */
const HANG_UP_MS = 1000;
/** The kernel's limit for the path of a socket, less its closing NUL, on the strictest system. */
const PATH_BYTES = 103;

export interface SocketServer {
  /** Stops listening, ends the connections that are left, removes the socket. */
  close(): Promise<void>;
}

/**
 * Serves the wire on a Unix socket (0600, in a folder 0700) to this user's programs; each that dials is handed over as a way to open its link.
 * Throws BytebotError: `conflict` where another process listens there, `forbidden` where others could reach it, `invalid_params` for the path.
 */
export async function listenSocket(path: string, onConnection: (open: Connect) => void): Promise<SocketServer> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    // It may fail before its link is opened; the link has listeners of its own.
    socket.on("error", () => {});
    onConnection(async (receiver) => open(socket, "a program on the local socket", receiver));
  });
  await bindSocket(server, path);
  server.on("error", (error) => process.emitWarning(`a program could not join on ${path}: ${error.message}`));
  return {
    async close() {
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** Joins a running app over its socket. `unavailable` where none listens, `forbidden` where it may be another user's. */
export function dialSocket(path: string): Connect {
  return async (receiver, signal) => {
    await assertOwn(dirname(path));
    const socket = connect(path);
    try {
      await once(socket, "connect", { signal });
    } catch (error) {
      socket.destroy();
      if (signal.aborted) throw BytebotError.from(error, "cancelled");
      throw new BytebotError("unavailable", `nothing listens on ${path}: start the app first, with bytebot run`, {
        cause: error,
      });
    }
    return open(socket, `the app on ${path}`, receiver, wide);
  };
}

function open(socket: Socket, name: string, receiver: Receiver, limits?: LineLimits): LineLink {
  if (socket.destroyed) throw new BytebotError("unavailable", `${name} hung up before it was answered`);
  const end = async (): Promise<void> => {
    if (socket.destroyed) return;
    const closed = once(socket, "close");
    socket.end();
    const timer = setTimeout(() => socket.destroy(), HANG_UP_MS);
    await closed;
    clearTimeout(timer);
  };
  return new LineLink({ name, readable: socket, writable: socket, end, ...(limits && { limits }) }, receiver);
}

/** Binds the server to a Unix socket that only this user's programs reach; throws like `listenSocket`. */
export async function bindSocket(server: Server, path: string): Promise<void> {
  if (Buffer.byteLength(path) > PATH_BYTES) {
    throw new BytebotError("invalid_params", `${path} is too long for a socket: at most ${PATH_BYTES} bytes`);
  }
  await ownFolder(dirname(path));
  await bind(server, path);
  await chmod(path, 0o600);
}

async function bind(server: Server, path: string): Promise<void> {
  try {
    await listen(server, path);
  } catch (error) {
    if (!isCode(error, "EADDRINUSE"))
      throw new BytebotError("unavailable", `cannot listen on ${path}: ${String(error)}`, { cause: error });
    await moveAside(path).catch((cause: unknown) => {
      // Another is doing the same, and was first: now the path is free, or in use.
      if (!isCode(cause, "ENOENT")) throw cause;
    });
    await listen(server, path).catch((cause: unknown) => {
      throw inUse(path, cause);
    });
  }
}

/** Removes what a dead process left behind. It is tried again under a name of its own: meanwhile another may have bound the path. */
async function moveAside(path: string): Promise<void> {
  if (!(await lstat(path)).isSocket())
    throw new BytebotError("conflict", `${path} exists and is no socket: choose another path`);
  if (await isLive(path)) throw inUse(path);
  const aside = `${path}.${randomUUID().slice(0, 4)}`;
  await rename(path, aside);
  if (await isLive(aside)) {
    await rename(aside, path);
    throw inUse(path);
  }
  await unlink(aside);
}

async function isLive(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

async function listen(server: Server, path: string): Promise<void> {
  server.listen(path);
  await once(server, "listening");
}

function inUse(path: string, cause?: unknown): BytebotError {
  return new BytebotError("conflict", `another process listens on ${path}: end it, or choose another path`, { cause });
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
