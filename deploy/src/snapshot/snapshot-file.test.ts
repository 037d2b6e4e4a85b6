import { describe, expect, it, test } from 'vitest';
import { parseSnapshotFacts, sealingKeyIds, type SnapshotFacts, unreadableSecrets } from './snapshot-file.ts';

const FACTS: SnapshotFacts = {
  format: 1,
  clusterId: 'gantry-1',
  takenAt: '2026-01-01T00:00:00Z',
  revision: 7,
  keys: 'included',
  sealingKeys: ['a', 'b'],
};

test('what a snapshot says of itself is read as it was written', () => {
  expect(parseSnapshotFacts(JSON.stringify(FACTS), 'f')).toEqual(FACTS);
});

test.each([
  ['no JSON', '{', 'f is no snapshot: its snapshot.json is no JSON'],
  ['another format', JSON.stringify({ ...FACTS, format: 2 }), 'f has the format 2; this version reads 1'],
  [
    'no revision',
    JSON.stringify({ ...FACTS, revision: undefined }),
    'f is no snapshot: its snapshot.json lacks fields',
  ],
  [
    'ids that are no texts',
    JSON.stringify({ ...FACTS, sealingKeys: [1] }),
    'f is no snapshot: its snapshot.json lacks fields',
  ],
])('a file with %s is refused', (_, text, message) => {
  expect(() => parseSnapshotFacts(text, 'f')).toThrow(message);
});

test('the ids of sealing keys are those of keys.json, without their secrets', () => {
  expect(sealingKeyIds('{"keys":[{"id":"a","secret":"x"},{"id":"b","secret":"y"}]}\n')).toEqual(['a', 'b']);
  expect(sealingKeyIds('')).toEqual([]);
});

describe('Secrets of a snapshot', () => {
  it('can be read with the keys of the cluster, if it has all of them', () => {
    expect(unreadableSecrets(FACTS, ['c', 'b', 'a'], 'cluster')).toBeUndefined();
  });

  it('cannot be read without a key, which is named', () => {
    const problem = 'Secrets in it may be sealed under b, which this cluster does not have';
    expect(unreadableSecrets(FACTS, ['a'], 'cluster')).toBe(problem);
  });

  it('can be read with the keys of the file, if it has any', () => {
    expect(unreadableSecrets(FACTS, [], 'file')).toBeUndefined();
    expect(unreadableSecrets({ ...FACTS, keys: 'left-out' }, ['a'], 'file')).toContain('sealed under b');
  });
});
