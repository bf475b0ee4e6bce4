/** The Node that this package needs: importing it elsewhere says so, instead of failing at the first call. */
const OLDEST = [22, 19] as const;

export function checkNode(version: string): void {
  const [major = 0, minor = 0] = version.replace(/^v/, "").split(".").map(Number);
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return;
  throw new Error(
    `bytebot needs Node ${OLDEST.join(".")} or later, and this is ${version}: get it from https://nodejs.org`,
  );
}

checkNode(process.version);
