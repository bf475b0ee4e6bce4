const gone = new AbortController();

// As after `| head`: whoever read has what they wanted. Anything else, such as a full disk, is a failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") {
    process.stderr.write(`bytebot: stdout cannot be written: ${error.message}\n`);
    process.exitCode = 1;
  }
  gone.abort();
});

/** Aborts when stdout takes nothing any more. */
export const unread: AbortSignal = gone.signal;

export function isUnread(): boolean {
  return unread.aborted;
}

export function printLine(line: string): void {
  if (!unread.aborted) process.stdout.write(`${line}\n`);
}

let quiet = false;

/** What components print and how they fare, for the person at stderr: not while the app is being stopped. */
export function report(line: string): void {
  // A ui that draws on the terminal takes the console's prints over, and leaves the screen whole.
  if (!quiet) console.error(line);
}

/** From here on components end because they were told to: that is no news. */
export function quieten(): void {
  quiet = true;
}
