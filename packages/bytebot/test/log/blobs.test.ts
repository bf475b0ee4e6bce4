import { MemoryBlobs, openSqliteLog } from "../../src/log/index.ts";
import { blobSuite } from "./blobs.suite.ts";
import { freshFile } from "./sqlite/files.ts";

blobSuite("memory", async (quota) => {
  const blobs = new MemoryBlobs(quota);
  return { blobs, end: () => blobs.close() };
});

blobSuite("sqlite", async (quota = {}) => {
  const { log, blobs } = await openSqliteLog({ file: freshFile(), quota });
  return { blobs, end: () => log.close() };
});
