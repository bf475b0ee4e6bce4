// Any Node from 14 on can run this file: where it is too old for ByteBot, the Node that the checkout brought takes over.
import { spawn } from "child_process";
import { existsSync } from "fs";
import { createRequire } from "module";
import { fileURLToPath } from "url";

const OLDEST = [22, 19];

/** Runs a built program in this Node, or the file at `here` (the URL of what called this) once more in the checkout's Node. */
export function launch(name, here, main) {
  if (!isEnough(process.version)) runOnOwnNode(name, fileURLToPath(here));
  else if (existsSync(fileURLToPath(main))) {
    process.setSourceMapsEnabled(true);
    void import(main.href); // a rejection ends the process; an await here is not for every Node from 14 on
  } else fail(`${name} is not built: run npm run prepare in its checkout.`);
}

function isEnough(version) {
  const [major, minor] = version.replace(/^v/, "").split(".").map(Number);
  return major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
}

function runOnOwnNode(name, file) {
  const node = findNode();
  if (node === undefined) {
    fail(
      `${name} needs Node ${OLDEST.join(".")} or later, and this is ${process.version}: run npm ci in the checkout, or get Node from https://nodejs.org.`,
    );
    return;
  }
  const child = spawn(node, [file, ...process.argv.slice(2)], { stdio: "inherit" });
  // A terminal sends its own SIGINT and SIGHUP to both of us; passing them on too would interrupt twice.
  const terminal = Boolean(process.stdin.isTTY || process.stdout.isTTY);
  for (const signal of ["SIGINT", "SIGHUP", "SIGTERM"]) {
    process.on(signal, () => {
      if (!terminal || signal === "SIGTERM") child.kill(signal);
    });
  }
  child.on("error", (error) =>
    fail(`${node} does not start (${error.message}): get Node ${OLDEST.join(".")} or later from https://nodejs.org.`),
  );
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

// From this file's node_modules upwards, the platform package that package.json of the checkout lists.
function findNode() {
  const require = createRequire(import.meta.url);
  const windows = process.platform === "win32";
  const name = `node-${windows ? "win" : process.platform}-${process.arch}`;
  try {
    if (!isEnough(require(`${name}/package.json`).version)) return undefined;
    return require.resolve(`${name}/bin/${windows ? "node.exe" : "node"}`);
  } catch (error) {
    if (error.code === "MODULE_NOT_FOUND") return undefined;
    throw error;
  }
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exitCode = 1;
}
