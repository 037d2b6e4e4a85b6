import { expect, it } from 'vitest';
import { RecentReads } from './recent-reads.ts';

it('keeps the last four results, whatever they are', async () => {
  const reads = new RecentReads();
  const read: string[] = [];
  const get = (key: string) =>
    reads.get(key, async () => {
      read.push(key);
      return key === 'a' ? undefined : key;
    });
  for (const key of ['a', 'b', 'a', 'c', 'd', 'a', 'e', 'a', 'b']) await get(key);
  expect(read).toEqual(['a', 'b', 'c', 'd', 'e', 'b']);
  expect(await get('a')).toBeUndefined();
});

it('keeps no failure', async () => {
  const reads = new RecentReads();
  await expect(reads.get('a', () => Promise.reject(new RangeError('no')))).rejects.toThrow('no');
  expect(await reads.get('a', async () => 1)).toBe(1);
});
