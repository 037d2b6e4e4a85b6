import { type Status, StatusError } from '@gantry/objects';
import { type Entry, type Filter, formatContinueToken, parseContinueToken, prefixBounds } from '../../cache/index.ts';
import type { ResourceVersion } from '../../storage/object-store.ts';

/** One page of a list. */
export interface Page {
  readonly items: readonly Entry[];
  /** The first key of the next page; undefined on the last page. */
  readonly next: string | undefined;
  /** The number of keys after this page. */
  readonly remaining: number;
}

/** The matching entries under `prefix` from `startKey` on, at most `limit`; 0 means all. */
export function pageOf(
  entries: readonly Entry[],
  prefix: string,
  startKey: string | undefined,
  filter: Filter,
  limit: number,
): Page {
  const [from, to] = prefixBounds(entries, prefix, startKey);
  const items: Entry[] = [];
  for (let at = from; at < to; at++) {
    const entry = entries[at];
    if (entry === undefined || !filter.matches(entry.response.object)) continue;
    items.push(entry);
    if (limit > 0 && items.length === limit && at + 1 < to) {
      return { items, next: `${entry.key}\0`, remaining: to - at - 1 };
    }
  }
  return { items, next: undefined, remaining: 0 };
}

/** The continue token for the page that starts at `next`. */
export function tokenAfter(next: string, prefix: string, resourceVersion: ResourceVersion): string {
  return formatContinueToken({ resourceVersion, start: next.slice(prefix.length) });
}

/** Parses a continue token. The start key is below `prefix`. */
export function startOf(
  token: string,
  prefix: string,
): { startKey: string; resourceVersion: ResourceVersion | undefined } {
  const { start, resourceVersion } = parseContinueToken(token);
  return { startKey: `${prefix}${start}`, resourceVersion };
}

/** The error 410, with a token that continues the list without consistency. */
class ContinueExpiredError extends StatusError {
  readonly #token: string;

  constructor(token: string) {
    super(
      'Expired',
      'The provided continue parameter is too old to display a consistent list result. You can start a new list without ' +
        'the continue parameter, or use the continue token in this response to retrieve the remainder of the results. ' +
        'Continuing with the provided token results in an inconsistent list - objects that were created, modified, or ' +
        'deleted between the time the first chunk was returned and now may show up in the list.',
    );
    this.#token = token;
  }

  override toStatus(): Status {
    return { ...super.toStatus(), metadata: { continue: this.#token } };
  }
}

/** The error for a token whose revision was compacted. `start` is relative to the prefix of the list. */
export function continueExpired(start: string): StatusError {
  return new ContinueExpiredError(formatContinueToken({ resourceVersion: undefined, start }));
}
