import assert from "node:assert/strict";
import { test } from "node:test";
import { parseReference } from "../../src/resolve/index.ts";

const read = (...refs: string[]) => refs.map((ref) => parseReference(ref).type);

test("http and https references are URLs", () => {
  assert.deepEqual(parseReference("http://site:8081"), { type: "url", url: "http://site:8081" });
  assert.deepEqual(read("https://site/x", "HTTP://SITE"), ["url", "url"]);
});

test("what starts with a dot, a slash, a tilde or a drive is a path", () => {
  assert.deepEqual(parseReference("./context"), { type: "path", path: "./context" });
  const refs = [".", "..", "../a/b", "/abs", "~", "~/x", "~\\x", "C:\\x", "c:/x", "\\\\server\\share"];
  assert.deepEqual(new Set(read(...refs)), new Set(["path"]));
});

test("a name alone, or under a scope, is an installed package", () => {
  assert.deepEqual(parseReference("bb-infer"), { type: "package", name: "bb-infer" });
  assert.deepEqual(parseReference("@acme/tools"), { type: "package", name: "@acme/tools" });
});

test("owner/name is a GitHub slug, with or without a commit", () => {
  assert.deepEqual(parseReference("acme/tools"), { type: "slug", owner: "acme", name: "tools" });
  assert.deepEqual(parseReference("acme/tools.ts#3f9a"), {
    type: "slug",
    owner: "acme",
    name: "tools.ts",
    commit: "3f9a",
  });
});

test("anything else is refused with the forms that work", () => {
  for (const ref of ["", " ", "a/b/c", "bb infer", "bb-infer@1.0.0", "ftp://x", "@acme", "a/b#", "./x\0"]) {
    assert.throws(() => parseReference(ref), {
      code: "invalid_params",
      message: /no component reference: write a path \("\.\/context"\), an installed package \("bb-infer"\) or a URL/,
    });
  }
});

test("a URL that cannot be read is refused by name", () => {
  const message = `"http://site:port" is no URL: check its host and port`;
  assert.throws(() => parseReference("http://site:port"), { code: "invalid_params", message });
});
