import { describe, expect, it } from 'vitest';
import { GROUP_LIMITS, type GroupLimits, type IdentifiedWrite, chooseGroup } from './group.ts';
import { deletedKeyOf, INCARNATION_KEY } from './keys.ts';
import type { GuardedWrite } from './object-store.ts';

const writeOf = (key: string, change: Partial<GuardedWrite> = {}): IdentifiedWrite => ({
  write: {
    key,
    expected: 256,
    value: new Uint8Array(1),
    writer: { name: 'test' },
    ...change,
  },
  writeId: new Uint8Array(16),
});
const FENCED = { name: 'test', fence: { electionKey: '/e', epoch: 1, incarnation: 'i' } };

/** The keys of the first group and of the remaining writes. */
function take(waiting: readonly IdentifiedWrite[], limits: Partial<GroupLimits> = {}) {
  const group = chooseGroup(waiting, { ...GROUP_LIMITS, ...limits });
  const rest = waiting.filter((item) => !group.includes(item));
  const keys = (items: readonly IdentifiedWrite[]) => items.map(({ write }) => write.key).join(' ');
  return { group: keys(group), rest: keys(rest) };
}

describe('a group', () => {
  it('takes writes of different keys, in their order', () => {
    expect(take([writeOf('a'), writeOf('b'), writeOf('c')])).toEqual({ group: 'a b c', rest: '' });
  });

  it('takes one write of a key: all compares see the state before the transaction', () => {
    expect(take([writeOf('a'), writeOf('b'), writeOf('a')])).toEqual({ group: 'a b', rest: 'a' });
  });

  it.each<[string, Partial<GuardedWrite>]>([
    ['must be unchanged', { unchanged: [{ key: 'a', resourceVersion: 256 }] }],
    ['is the election of its fence', { writer: { ...FENCED, fence: { ...FENCED.fence, electionKey: 'a' } } }],
  ])('takes no write together with another one of a key that %s', (_why, guard) => {
    expect(take([writeOf('a'), writeOf('b', guard)])).toEqual({ group: 'a', rest: 'b' });
    expect(take([writeOf('b', guard), writeOf('a')])).toEqual({ group: 'b', rest: 'a' });
    expect(take([writeOf('b', guard), writeOf('c', guard)])).toEqual({ group: 'b c', rest: '' });
  });

  it('takes no write of the incarnation together with a fenced one', () => {
    const incarnation = writeOf(INCARNATION_KEY);
    expect(take([incarnation, writeOf('a', { writer: FENCED })])).toEqual({ group: INCARNATION_KEY, rest: 'a' });
  });

  it('takes no write of the record of a fenced deletion together with it', () => {
    const record = deletedKeyOf('/registry/pods/n/p');
    const deletion = writeOf('/registry/pods/n/p', { writer: FENCED, value: null });
    expect(take([deletion, writeOf(record)])).toEqual({ group: '/registry/pods/n/p', rest: record });
  });

  it('keeps the order of the writes of a key: one that waits holds back the later ones', () => {
    const waiting = [
      writeOf('a'),
      writeOf('b', { unchanged: [{ key: 'a', resourceVersion: 256 }] }),
      writeOf('b'),
      writeOf('c', { unchanged: [{ key: 'b', resourceVersion: 256 }] }),
    ];
    expect(take(waiting)).toEqual({ group: 'a', rest: 'b b c' });
  });

  it('has a limit of writes, and one of bytes that a single write may exceed', () => {
    const many = ['a', 'b', 'c'].map((key) => writeOf(key));
    expect(take(many, { maxWrites: 2 })).toEqual({ group: 'a b', rest: 'c' });
    const sized = (key: string, bytes: number) => writeOf(key, { value: new Uint8Array(bytes) });
    const limits = { maxBytes: 10 };
    expect(take([sized('a', 6), sized('b', 5), sized('c', 4)], limits)).toEqual({ group: 'a c', rest: 'b' });
    expect(take([sized('a', 11), sized('b', 1)], limits)).toEqual({ group: 'a', rest: 'b' });
  });

  it('reads no more of what waits than it takes', () => {
    let read = 0;
    const endless = (function* () {
      for (;;) yield writeOf(`key-${read++}`);
    })();
    expect(chooseGroup(endless, { ...GROUP_LIMITS, maxWrites: 3 })).toHaveLength(3);
    expect(read).toBe(3);
  });
});
