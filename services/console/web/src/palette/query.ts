import type { Kind } from '../api/kinds.ts';
import { type Offer, OFFERS } from '../object/offers.ts';

/** A query of the palette: what to do, of which kind, with which name. */
export interface Query {
  readonly offer: Offer | undefined;
  readonly kind: Kind | undefined;
  /** The other words. */
  readonly rest: string;
}

/** The longest first: `rollout restart` is no object named `rollout`. */
const BEGINNINGS = OFFERS.flatMap((offer) => offer.words.map((words) => ({ offer, words: words.split(' ') }))).sort(
  (a, b) => b.words.length - a.words.length,
);

/** `logs pods web` is an offer, a kind and the words of a name. Kinds are known by plural, singular and short names. */
export function parseQuery(text: string, kinds: readonly Kind[]): Query {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  // Words without others may be the beginning of a name.
  const found = BEGINNINGS.find(
    (known) => words.length > known.words.length && known.words.every((word, index) => words[index] === word),
  );
  words.splice(0, found?.words.length ?? 0);
  const [name = ''] = words;
  const kind = kinds.find(
    ({ id, resource, singular, shortNames }) => [id, resource, singular].includes(name) || shortNames.includes(name),
  );
  if (kind !== undefined) words.shift();
  return { offer: found?.offer, kind, rest: words.join(' ') };
}
