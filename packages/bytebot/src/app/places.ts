/** What an app on this machine keeps to its user: where its socket and its token are, and what the environment says of one. */
export { assertOwn, ownFolder, tokenOfEnv } from "../transport/index.ts";
