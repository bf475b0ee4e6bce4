import { constants, type Stats } from "node:fs";
import { open, opendir, realpath, stat, type FileHandle } from "node:fs/promises";
import { join, relative, resolve, sep } from "node:path";
import { BytebotError } from "bytebot/sdk";

/** What is in a folder: its name, and for a file its size in bytes. */
export interface Entry {
  name: string;
  type: "folder" | "file" | "other";
  size: number;
}

/** One folder and what is below it: nothing outside can be named, by `..` or through a link. */
export class Folder {
  /** Absolute, without links. */
  readonly root: string;
  private readonly hidden: boolean;

  private constructor(root: string, hidden: boolean) {
    this.root = root;
    this.hidden = hidden;
  }

  /** Throws BytebotError `not_found` where the root is no folder. */
  static async open(root: string, hidden: boolean): Promise<Folder> {
    let isFolder = false;
    try {
      isFolder = (await stat(root)).isDirectory();
    } catch {
      // Said below.
    }
    if (!isFolder)
      throw new BytebotError("not_found", `bb-tools: the option "root" is ${root}, and there is no such folder`);
    return new Folder(await realpath(root), hidden);
  }

  /** At most `most` entries, in the order of their names, and how many there are. */
  async list(path: string, most: number): Promise<{ entries: Entry[]; total: number }> {
    const folder = await this.locate(path);
    const names: string[] = [];
    try {
      for await (const { name } of await opendir(folder)) if (this.hidden || !name.startsWith(".")) names.push(name);
    } catch (error) {
      throw unreadable(path, error);
    }
    const shown = names.sort().slice(0, most);
    return { entries: await Promise.all(shown.map((name) => entry(folder, name))), total: names.length };
  }

  /** The bytes of a file, at most `most`. */
  async read(path: string, most: number): Promise<Buffer> {
    const file = await this.locate(path);
    let handle: FileHandle | undefined;
    try {
      // Not through a link that was put there meanwhile, and without waiting at a named pipe.
      handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
      const found = await handle.stat();
      if (!found.isFile()) throw noFile(path, found);
      if (found.size > most) throw tooLarge(path, found.size, most);
      // A file may grow while it is read, and those of /proc say that they are empty.
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(most + 1), 0, most + 1, 0);
      if (bytesRead > most) throw tooLarge(path, bytesRead, most);
      return buffer.subarray(0, bytesRead);
    } catch (error) {
      throw unreadable(path, error);
    } finally {
      await handle?.close();
    }
  }

  /** Where the path leads, every link followed. Throws BytebotError `forbidden` outside of the root and in what is hidden. */
  private async locate(path: string): Promise<string> {
    if (path.includes("\0")) throw new BytebotError("invalid_params", "a path has no NUL character");
    const named = resolve(this.root, path);
    this.check(path, named);
    let real: string;
    try {
      real = await realpath(named);
    } catch (error) {
      throw unreadable(path, error);
    }
    this.check(path, real);
    return real;
  }

  private check(path: string, place: string): void {
    const parts = relative(this.root, place).split(sep);
    if (parts[0] === ".." || resolve(this.root, parts.join(sep)) !== place) {
      throw new BytebotError(
        "forbidden",
        `${path} is outside of the folder: give a path below it, as in "notes/todo.txt"`,
      );
    }
    if (!this.hidden && parts.some((part) => part.startsWith("."))) {
      throw new BytebotError("forbidden", `${path} is hidden: what begins with a dot is not shown here`);
    }
  }
}

async function entry(folder: string, name: string): Promise<Entry> {
  try {
    const found = await stat(join(folder, name));
    return { name, type: found.isDirectory() ? "folder" : found.isFile() ? "file" : "other", size: found.size };
  } catch {
    return { name, type: "other", size: 0 }; // a link to nothing, or gone meanwhile
  }
}

function noFile(path: string, found: Stats): BytebotError {
  const fix = found.isDirectory() ? "it is a folder: list_files shows what is in it" : "it is a device or a pipe";
  return new BytebotError("invalid_params", `${path} is no file: ${fix}`);
}

function tooLarge(path: string, size: number, most: number): BytebotError {
  return new BytebotError("too_large", `${path} has ${size} bytes, and at most ${most} are read`);
}

/** What the file system said, without its absolute paths. */
function unreadable(path: string, error: unknown): BytebotError {
  if (error instanceof BytebotError) return error;
  const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
  if (code === "ENOENT") return new BytebotError("not_found", `there is no ${path}: list_files shows what is there`);
  if (code === "ENOTDIR") return new BytebotError("invalid_params", `${path} is no folder: read_file reads a file`);
  return new BytebotError("unavailable", `${path} cannot be read: ${code}`, { cause: error });
}
