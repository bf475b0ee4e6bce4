/** The known word a person most likely meant, where one is near enough: at most a third of it differs, rounded up. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const ranked = known.map((candidate) => ({ candidate, away: distance(word.toLowerCase(), candidate.toLowerCase()) }));
  ranked.sort((a, b) => a.away - b.away);
  const best = ranked[0];
  return best && best.away <= Math.ceil(best.candidate.length / 3) ? best.candidate : undefined;
}

/** Edit distance: letters inserted, left out or replaced. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
