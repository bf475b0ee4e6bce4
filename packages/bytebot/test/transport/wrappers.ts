/** The same stubborn satellite, started in every way in which what runs in the end is not what we started. Run in `fixtures`. */
export const stubborn: Readonly<Record<string, readonly string[]>> = {
  plain: ["node", "stubborn.mjs"],
  "under a shell script": ["sh", "-c", '"$0" stubborn.mjs; true', process.execPath],
  "under a package runner": ["node", "npx-like.mjs", process.execPath, "stubborn.mjs"],
  "in an environment of its own": ["sh", "-c", 'env -i "$0" stubborn.mjs; true', process.execPath],
  "as a daemon, forked twice with a session of its own": [
    "sh",
    "-c",
    '(setsid "$0" stubborn.mjs <&- &) ; exec cat > /dev/null',
    process.execPath,
  ],
};

export const fixtures = new URL("../fixtures/", import.meta.url).pathname;
