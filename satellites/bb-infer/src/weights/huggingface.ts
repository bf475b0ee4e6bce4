import { createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { BytebotError } from "bytebot/sdk";
import { locked, needDisk, needFolder } from "./cache.ts";
import type { Progress } from "./index.ts";
import type { Pin } from "./pinned.ts";
import { check, sizeOf } from "./verify.ts";

const STALL_MS = 60_000;
const ID = /^hf:([\w.-]+\/[\w.-]+)\/([\w./-]+\.gguf)$/;

/**
 * A file of a Hugging Face repository (`hf:user/repo/file.gguf`), kept in `folder` and checked against the size and
 * sha256 the hub names for it. HF_TOKEN opens gated repositories, HF_ENDPOINT names another hub.
 */
export async function fromHuggingFace(
  id: string,
  folder: string,
  onProgress: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<string> {
  const [, repo, path] = ID.exec(id) ?? [];
  if (!repo || !path || path.includes("..")) {
    throw new BytebotError("invalid_params", `${id} names no model file: write hf:user/repo/file.gguf`);
  }
  const file = join(folder, `${repo}/${path}`.replaceAll("/", "--"));
  if ((await sizeOf(file)) !== undefined) return file;
  await needFolder(folder);
  const waiting = () => onProgress({ stage: "wait", done: 0, total: 0 });
  await locked(`${file}.lock`, { signal, waiting }, async () => {
    if ((await sizeOf(file)) !== undefined) return;
    try {
      await fetchFile(`${repo}/resolve/main/${path}`, file, onProgress, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof BytebotError) throw error;
      const { cause, message } = error as Error;
      const why = cause instanceof Error ? cause.message : message;
      const fix = "check the network, or download the file yourself and set opts.model to its path";
      throw new BytebotError("unavailable", `${id} could not be fetched from Hugging Face (${why}): ${fix}`, {
        retryable: true,
        cause: error,
      });
    }
  });
  return file;
}

async function fetchFile(
  path: string,
  file: string,
  onProgress: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<void> {
  const idle = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const alive = () => {
    clearTimeout(timer);
    timer = setTimeout(() => idle.abort(new Error(`nothing came for ${STALL_MS / 1000} s`)), STALL_MS);
  };
  alive();
  try {
    const partial = `${file}.partial`;
    const guard = AbortSignal.any([signal, idle.signal]);
    const { response, pin, have } = await begin(path, partial, guard);
    const from = response && response.status !== 206 ? 0 : have;
    const total = pin.bytes ?? from + Number(response?.headers.get("content-length") ?? 0);
    let done = from;
    if (response) {
      await needDisk(join(file, ".."), total - from);
      const body = Readable.fromWeb(response.body as never).on("data", (chunk: Uint8Array) => {
        alive();
        done += chunk.length;
        onProgress({ stage: "download", done, total });
      });
      await pipeline(body, createWriteStream(partial, { flags: from > 0 ? "a" : "w" }), { signal: guard });
    }
    // From here on nothing comes: a large file's hash takes longer than a download may be silent.
    clearTimeout(timer);
    onProgress({ stage: "verify", done, total });
    if (done < total) throw new Error(`the connection ended after ${done} of ${total} bytes, which are kept`);
    if (pin.sha256) await checked(partial, { name: path, bytes: total, sha256: pin.sha256 }, signal);
    await rename(partial, file);
  } finally {
    clearTimeout(timer);
  }
}

/** A wrong partial file must not be what the next try goes on from. */
async function checked(partial: string, pin: Pin, signal: AbortSignal): Promise<void> {
  try {
    await check(partial, pin, signal);
  } catch (error) {
    if (!signal.aborted) await rm(partial, { force: true });
    throw error;
  }
}

interface Answer {
  /** Undefined: nothing is left to come. */
  response: Response | undefined;
  /** What the hub says about the file; the hash of files it keeps in its large-file store only. */
  pin: { bytes: number | undefined; sha256: string | undefined };
  /** Bytes of the partial file, from which the response goes on where its status is 206. */
  have: number;
}

/** Asks for what the partial file has not yet. One that is no beginning of the file is deleted, and all is asked for. */
async function begin(path: string, partial: string, signal: AbortSignal): Promise<Answer> {
  const answer = await request(path, (await sizeOf(partial)) ?? 0, signal);
  if (answer.response?.status !== 416) return answer;
  await rm(partial, { force: true });
  return request(path, 0, signal);
}

async function request(path: string, have: number, signal: AbortSignal): Promise<Answer> {
  const url = new URL(path, `${process.env["HF_ENDPOINT"] ?? "https://huggingface.co"}/`);
  const token = process.env["HF_TOKEN"];
  const range: Record<string, string> = have > 0 ? { range: `bytes=${have}-` } : {};
  const headers = { ...range, ...(token ? { authorization: `Bearer ${token}` } : {}) };
  const first = await fetch(url, { headers, redirect: "manual", signal });
  const location = first.headers.get("location");
  const etag = first.headers.get("x-linked-etag")?.replaceAll('"', "");
  const size = first.headers.get("x-linked-size");
  const pin = {
    bytes: size ? Number(size) : undefined,
    sha256: etag && /^[0-9a-f]{64}$/.test(etag) ? etag : undefined,
  };
  if (location && have > 0 && have === pin.bytes) return { response: undefined, pin, have };
  // The token is for the hub; the store it sends us to has its own signature in the address.
  const response = location ? await fetch(new URL(location, url), { headers: range, signal }) : first;
  const isBeyond = response.status === 416 && have > 0;
  if (!response.ok || !response.body) {
    await response.body?.cancel();
    if (!isBeyond) throw refusal(url, response.status);
  }
  return { response, pin, have };
}

function refusal(url: URL, status: number): BytebotError {
  const fail = (code: "not_found" | "unauthorized" | "unavailable", fix: string) =>
    new BytebotError(code, `${url.href} answered ${status}: ${fix}`, { retryable: code === "unavailable" });
  if (status === 404) return fail("not_found", "check user, repo and file");
  if (status === 401 || status === 403)
    return fail("unauthorized", "set HF_TOKEN to a token that may read the repository");
  return fail("unavailable", "the hub failed, try again");
}
