import type { LanguageModelV4Usage } from "@ai-sdk/provider";
import type { Usage } from "bytebot/sdk";

/** The vendors' names for counts that they say: a package's zero may stand for one that is not there. */
const INPUT = /"(?:prompt|input)_?tokens?(?:count)?":\d/i;
const OUTPUT = /"(?:completion|output|candidates)_?tokens?(?:count)?":\d/i;
const CACHE_READ = /"(?:cached_tokens|cached?_?(?:content|read)\w*)":\d/i;
const CACHE_WRITE = /"cache_?(?:creation|write)\w*":\d/i;

/** An absent count is unknown. Cached tokens are counted beside the others, not among them. */
export function toUsage({ inputTokens, outputTokens, raw }: LanguageModelV4Usage): Usage {
  // No reply takes nothing and says nothing: the package's zeros stand for a server that did not say.
  if (!inputTokens.total && !outputTokens.total) return {};
  const said = JSON.stringify(raw ?? {});
  const known = (count: number | undefined, name: RegExp) => {
    // More cached than asked, parts of tokens: no event may carry such a count.
    if (count === undefined || !Number.isSafeInteger(count) || count < 0) return undefined;
    return count === 0 && raw !== undefined && !name.test(said) ? undefined : count;
  };
  const counts = {
    input_tokens: known(inputTokens.noCache ?? inputTokens.total, INPUT),
    output_tokens: known(outputTokens.total, OUTPUT),
    cache_read_tokens: known(inputTokens.cacheRead, CACHE_READ),
    cache_write_tokens: known(inputTokens.cacheWrite, CACHE_WRITE),
  };
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== undefined)) as Usage;
}
