/** Bytes of `total`; `wait` while another process does the same. */
export interface Progress {
  stage: string;
  done: number;
  total: number;
}

interface Screen {
  isTTY?: boolean | undefined;
  write(text: string): unknown;
}

const WIDTH = 24;
const WORDS: Record<string, string> = {
  wait: "waiting for another process that downloads the model",
  download: "downloading the model",
  join: "joining the parts of the model",
  verify: "checking the model",
};

/** Shows how far something is: on a terminal a bar that moves, elsewhere a line for every 10 %. Call `end` when it is over. */
export function progressOn(screen: Screen): { show: (progress: Progress) => void; end: () => void } {
  let last = "";
  let drawn = false;
  return {
    show: ({ stage, done, total }) => {
      const step = screen.isTTY ? 1 : 10;
      const percent = Math.floor((Math.min(done / total, 1) * 100) / step) * step;
      const size = stage === "wait" ? "" : `: ${percent} % of ${Math.ceil(total / 1e6)} MB`;
      const bar = screen.isTTY && size ? ` [${"#".repeat((percent * WIDTH) / 100).padEnd(WIDTH, "-")}]` : "";
      const line = `${WORDS[stage] ?? stage}${size}${bar}`;
      if (line === last) return;
      last = line;
      drawn = screen.isTTY === true;
      screen.write(drawn ? `\r\u001b[K${line}` : `${line}\n`);
    },
    end: () => {
      if (drawn) screen.write("\n");
      drawn = false;
    },
  };
}
