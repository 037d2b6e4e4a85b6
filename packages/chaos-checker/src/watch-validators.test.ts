import { describe, expect, it } from 'vitest';
import { ChangeLog, type ResourceChange, VALIDATORS, type WatchRecording } from './watch-validators.ts';

const CHANGES: readonly ResourceChange[] = [
  { type: 'put', key: 'n/a', version: 2560 },
  { type: 'put', key: 'n/b', version: 2561 },
  { type: 'put', key: 'n/a', version: 2816 },
  { type: 'delete', key: 'n/b', version: 3072 },
];
const ITEMS: WatchRecording['items'] = [
  { type: 'ADDED', key: 'n/a', version: 2560 },
  { type: 'ADDED', key: 'n/b', version: 2561 },
  { type: 'BOOKMARK', version: 2815 },
  { type: 'MODIFIED', key: 'n/a', version: 2816 },
  { type: 'DELETED', key: 'n/b', version: 3072 },
];
const [a, b, mark, a2, gone] = ITEMS as [
  WatchRecording['items'][number],
  WatchRecording['items'][number],
  WatchRecording['items'][number],
  WatchRecording['items'][number],
  WatchRecording['items'][number],
];

const BROKEN: readonly [string, readonly WatchRecording['items'][number][], readonly string[]][] = [
  ['an older event after a newer one', [a, b, gone, a2], ['ordered']],
  ['an event twice', [a, b, b, a2, gone], ['unique']],
  ['a gap', [a, b, gone], ['reliable']],
  ['a beginning in the middle', [b, a2, gone], ['reliable', 'resumable']],
  ['a bookmark that comes too early', [a, mark, b, a2], ['ordered', 'bookmarkable', 'atomic']],
  ['a deletion that is called a change', [a, b, a2, { type: 'MODIFIED', key: 'n/b', version: 3072 }], ['truthful']],
  ['an event that never was', [a, b, { type: 'MODIFIED', key: 'n/b', version: 2700 }, a2], ['truthful']],
];

function broken(items: WatchRecording['items'], from = 2559): readonly string[] {
  const recording = { client: 0, from, items };
  return Object.entries(VALIDATORS).flatMap(([name, validate]) =>
    validate(recording, new ChangeLog(CHANGES)).length > 0 ? [name] : [],
  );
}

describe('the watch validators', () => {
  it('accept what happened, from the beginning and from the middle of a revision', () => {
    expect(broken(ITEMS)).toEqual([]);
    expect(broken(ITEMS.slice(1), 2560)).toEqual([]);
    expect(broken([])).toEqual([]);
  });

  it.each(BROKEN)('find %s', (_, items, validators) => {
    expect(broken(items)).toEqual(validators);
  });
});
