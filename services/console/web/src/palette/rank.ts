/** Something that a person can look for. */
export interface Candidate {
  /** What the query is compared with, in lower case: words and names. */
  readonly text: string;
}

/**
 * The candidates that match each word of the query, the best first, at most `limit`. A word matches the beginning of the text best, then
 * the beginning of a part of it, then any part, then its letters in order (`wbx` in `web-xyz`). Equal ones keep their order.
 */
export function rank<C extends Candidate>(query: string, candidates: Iterable<C>, limit: number): readonly C[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const found: { readonly candidate: C; readonly score: number }[] = [];
  for (const candidate of candidates) {
    const score = scoreOf(words, candidate.text);
    if (score > 0) found.push({ candidate, score });
  }
  found.sort((a, b) => b.score - a.score);
  return found.slice(0, limit).map(({ candidate }) => candidate);
}

function scoreOf(words: readonly string[], text: string): number {
  // Of two texts with the same matches the shorter is the nearer one.
  let sum = 1 / (2 + text.length);
  for (const word of words) {
    const score = wordScore(word, text);
    if (score === 0) return 0;
    sum += score;
  }
  return sum;
}

function wordScore(word: string, text: string): number {
  const at = text.indexOf(word);
  if (at === 0) return text.length === word.length ? 6 : 5;
  if (at > 0) {
    for (let next = at; next >= 0; next = text.indexOf(word, next + 1)) {
      if (/[^a-z0-9]/.test(text.charAt(next - 1))) return 4;
    }
    return 2;
  }
  return word.length > 1 && hasLettersInOrder(word, text) ? 1 : 0;
}

function hasLettersInOrder(word: string, text: string): boolean {
  let from = 0;
  for (const letter of word) {
    from = text.indexOf(letter, from) + 1;
    if (from === 0) return false;
  }
  return true;
}
