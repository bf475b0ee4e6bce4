import { Writable } from "node:stream";
import { wide } from "../wire/index.ts";
import { LineLink } from "./lines.ts";
import type { Link, Receiver } from "./link.ts";

/**
 * The satellite's side of stdio: from here on stdout carries events only, and everything else that is printed goes to stderr.
 * The link closes when stdin ends; the process is then free to exit, which it is not made to.
 */
export function processLink(receiver: Receiver): Link {
  return new LineLink(
    {
      name: "the Hub",
      readable: process.stdin,
      writable: takeStdout(),
      limits: wide,
      end: () => {
        process.stdin.destroy();
        return Promise.resolve();
      },
    },
    receiver,
  );
}

function takeStdout(): Writable {
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout) as (lines: string, done: (error?: Error | null) => void) => boolean;
  // The method, not the object: whoever kept `process.stdout` or `console` is led to stderr too.
  stdout.write = stderr.write.bind(stderr);
  // The Hub is gone: the callback of the write says so to the link, and prints have nowhere to go.
  stdout.on("error", () => {});
  stderr.on("error", () => {});
  return new Writable({
    decodeStrings: false,
    write: (lines: string, _encoding, done) => void write(lines, done),
    writev: (queued, done) => void write(queued.map(({ chunk }) => String(chunk)).join(""), done),
  });
}
