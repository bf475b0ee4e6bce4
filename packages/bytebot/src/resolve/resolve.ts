import { realpath, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, join, relative, resolve as absolute, sep } from "node:path";
import { BytebotError } from "../wire/index.ts";
import { checkCommand } from "./command.ts";
import { errnoOf, unreadable } from "./jsonfile.ts";
import { MANIFEST_FILE, readManifest, type Entry, type Manifest } from "./manifest.ts";
import { parseReference } from "./reference.ts";

/** A component that can be reached: its files are there. */
export interface Resolved {
  /** As the app wrote it. */
  ref: string;
  /** Absolute; a child runs here. */
  folder: string;
  manifest: Manifest;
  entry: FileEntry;
}

export interface HttpEntry {
  type: "http";
  stream: URL;
  inbox: URL;
}

/** `command`: program and arguments, "node" for this process's own; `module`: an absolute path inside the folder. */
export type FileEntry = { type: "stdio"; command: string[] } | { type: "inproc"; module: string } | HttpEntry;

/**
 * Finds a component: reference → manifest → a way to reach it. `base` is the folder that relative paths start from.
 * Throws BytebotError with the fix: `not_found`, `invalid_params` (reference or manifest), `unsupported_version`,
 * `forbidden` (a path that leaves its folder), `unavailable` (GitHub slugs: not built yet).
 */
export async function resolve(ref: string, { base }: { base: string }): Promise<Resolved> {
  const file = await manifestFile(ref, absolute(base));
  const manifest = await readManifest(file);
  const folder = dirname(file);
  return { ref, folder, manifest, entry: await reachable(manifest.entry, folder, file) };
}

async function manifestFile(ref: string, base: string): Promise<string> {
  const reference = parseReference(ref);
  switch (reference.type) {
    case "path":
      return inPath(ref, absolute(base, expandHome(reference.path)));
    case "package":
      return inPackages(reference.name, base);
    case "url":
      throw new BytebotError("invalid_params", `${ref} is a URL: it is reached over HTTP, and has no files here`);
    case "slug": {
      const repository = `https://github.com/${reference.owner}/${reference.name}`;
      const message = `${ref} cannot be fetched: GitHub references are not built yet; git clone ${repository} and attach its path`;
      throw new BytebotError("unavailable", message);
    }
  }
}

async function inPath(ref: string, path: string): Promise<string> {
  const found = await kindOf(path);
  if (found === "folder") {
    const file = join(path, MANIFEST_FILE);
    if ((await kindOf(file)) === "file") return file;
    throw new BytebotError(
      "not_found",
      `${path} has no ${MANIFEST_FILE}: it is no component yet; write one there, or name another folder`,
    );
  }
  if (found === "nothing") {
    throw new BytebotError(
      "not_found",
      `there is no ${path} (from "${ref}"): check the path, which starts from the app's folder`,
    );
  }
  if (basename(path) === MANIFEST_FILE) return path;
  const message = `${path} is no component: attach the folder that holds its ${MANIFEST_FILE}, or import it and attach its main`;
  throw new BytebotError("invalid_params", message);
}

/** In node_modules, from the app's folder up, then from bytebot's own: what is installed beside it is found too. */
async function inPackages(name: string, base: string): Promise<string> {
  for (const start of [base, import.meta.dirname]) {
    for (let folder = start; ; folder = dirname(folder)) {
      const installed = join(folder, "node_modules", name);
      if ((await kindOf(installed)) === "folder") {
        const file = join(await realpath(installed), MANIFEST_FILE);
        if ((await kindOf(file)) === "file") return file;
        throw new BytebotError(
          "not_found",
          `the package "${name}" in ${installed} has no ${MANIFEST_FILE}: it is no ByteBot component`,
        );
      }
      if (folder === dirname(folder)) break;
    }
  }
  const isFolder = (await kindOf(join(base, name))) === "folder";
  const fix = isFolder
    ? `write "./${name}" for the folder of that name`
    : `npm install ${name}, or write "./${name}" for a folder`;
  throw new BytebotError("not_found", `no package "${name}" in node_modules of ${base} and the folders above: ${fix}`);
}

/** A file was found nowhere that a relative URL could start from. */
function whole(url: string, field: string, file: string): URL {
  if (URL.canParse(url)) return new URL(url);
  const message = `${file}: "entry.${field}" is ${JSON.stringify(url)}, and this manifest is a file: write the whole URL`;
  throw new BytebotError("invalid_params", message);
}

async function reachable(entry: Entry, folder: string, file: string): Promise<FileEntry> {
  if (entry.type === "stdio") return { type: "stdio", command: await checkCommand(entry.command, folder, file) };
  if (entry.type === "http")
    return { type: "http", stream: whole(entry.stream, "stream", file), inbox: whole(entry.inbox, "inbox", file) };
  const module = absolute(folder, entry.module);
  if (!isInside(folder, module)) throw leaves(entry.module, folder, file);
  if ((await kindOf(module)) !== "file") {
    const message = `${file}: "entry.module" names "${entry.module}", and there is no such file: build the component first, or correct the path`;
    throw new BytebotError("not_found", message);
  }
  // A link inside the folder may still lead out of it.
  if (!isInside(await realpath(folder), await realpath(module))) throw leaves(entry.module, folder, file);
  return { type: "inproc", module };
}

function leaves(module: string, folder: string, file: string): BytebotError {
  return new BytebotError(
    "forbidden",
    `${file}: "entry.module" is "${module}", outside ${folder}: move the module into that folder`,
  );
}

function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== "" && way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

function expandHome(path: string): string {
  return path.startsWith("~") ? join(homedir(), path.slice(1)) : path;
}

async function kindOf(path: string): Promise<"folder" | "file" | "nothing"> {
  try {
    return (await stat(path)).isDirectory() ? "folder" : "file";
  } catch (error) {
    const code = errnoOf(error);
    if (code === "ENOENT" || code === "ENOTDIR") return "nothing";
    throw unreadable(path, error);
  }
}
