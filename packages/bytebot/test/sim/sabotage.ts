/**
 * Loaded before a run (`node --import ./sabotage.ts main.ts`): the source of one file is changed as it is read, in this
 * process alone. `SABOTAGE` names which rule is taken out.
 */
import { registerHooks } from "node:module";
import { sabotages, type Edit } from "./sabotages.ts";

const name = process.env["SABOTAGE"];
const sabotage = sabotages.find((each) => each.name === name);
if (!sabotage) throw new Error(`SABOTAGE=${String(name)}: no such sabotage`);
const edits: Edit[] = sabotage.and ? [sabotage, sabotage.and] : [sabotage];
const made = new Set<Edit>();

registerHooks({
  load(url, context, next) {
    const loaded = next(url, context);
    for (const edit of edits) {
      if (!url.endsWith(`/packages/bytebot/src/${edit.file}`)) continue;
      const source = Buffer.from(loaded.source as Uint8Array | string).toString();
      if (source.split(edit.find).length !== 2)
        throw new Error(`${edit.file} does not have exactly once: ${edit.find}`);
      made.add(edit);
      loaded.source = source.replace(edit.find, () => edit.replace);
    }
    return loaded;
  },
});

process.on("exit", () => {
  if (made.size !== edits.length) throw new Error("a file was not loaded: nothing was taken out of it");
});
