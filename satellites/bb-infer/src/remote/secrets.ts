/** Variables that may hold a secret. A package may read one that nobody here knows of. */
const NAMED = /KEY|TOKEN|SECRET|PASSW|CREDENTIAL/i;
/** What is shorter is a placeholder for a server that wants no key, as in "none" or "ollama". */
const SHORTEST = 8;
/** Characters that are looked through; only the first few hundred are shown. */
const LOOKED_AT = 256 * 1024;

/** A text without `key`, the one in the variable `keyEnv`, and without the secrets of the environment. */
export function withoutSecrets(
  text: string,
  { key, keyEnv }: { key: string | undefined; keyEnv: string | undefined },
): string {
  const own: [string, string][] = key === undefined ? [] : [[key, `[the key in ${keyEnv}]`]];
  const others = Object.entries(process.env)
    .filter(([name]) => NAMED.test(name))
    .map(([name, value = ""]): [string, string] => [value.trim(), `[the secret in ${name}]`]);
  return (
    [...own, ...others]
      .filter(([secret]) => secret.length >= SHORTEST)
      // One may hold another.
      .sort(([a], [b]) => b.length - a.length)
      .flatMap(([secret, name]) => [...waysOf(secret)].map((way) => [way, name] as const))
      .reduce((rest, [way, name]) => rest.replaceAll(way, () => name), text.slice(0, LOOKED_AT))
  );
}

/** Raw JSON may hold it with its slashes escaped, a URL in percents. */
function waysOf(secret: string): Set<string> {
  const json = JSON.stringify(secret).slice(1, -1);
  return new Set([secret, json, json.replaceAll("/", String.raw`\/`), encodeURIComponent(secret.toWellFormed())]);
}
