import { describe, expect, it } from 'vitest';
import { bytesToFree, isBrought, planCollection, usedPercent } from './plan-collection.ts';
import type { PullRecord } from './pulled-images.ts';

const pulled = (...references: readonly string[]): readonly PullRecord[] =>
  references.map((reference) => ({ reference, access: 'anyone', origin: 'pulled' }));

describe('an image', () => {
  it.each<{ name: string; names: readonly string[]; records: readonly PullRecord[]; expected: boolean }>([
    { name: 'that was pulled', names: ['app:1', 'app@sha256:a'], records: pulled('app:1'), expected: true },
    { name: 'without records', names: ['app:1'], records: [], expected: false },
    {
      name: 'whose pull wrote its name in full',
      names: ['nginx:latest'],
      records: pulled('docker.io/library/nginx'),
      expected: true,
    },
    { name: 'that lost its tag to a newer one', names: ['app@sha256:a'], records: pulled('app:1'), expected: true },
    { name: 'pulled by digest', names: ['app@sha256:a'], records: pulled('app@sha256:a'), expected: true },
    {
      name: 'pulled by digest that has been given a tag',
      names: ['app:latest', 'app@sha256:a'],
      records: pulled('app@sha256:a'),
      expected: false,
    },
    {
      name: 'with a tag that was not pulled',
      names: ['app:1', 'app:mine'],
      records: pulled('app:1'),
      expected: false,
    },
    {
      name: 'with the name of another registry',
      names: ['app:1', 'quay.io/app:1'],
      records: pulled('app:1'),
      expected: false,
    },
    {
      name: 'with a digest in another repository',
      names: ['app:1', 'mirror/app@sha256:a'],
      records: pulled('app:1'),
      expected: false,
    },
    {
      name: 'that was there before the pull',
      names: ['app:1'],
      records: [...pulled('app:1'), { reference: 'app:1', access: 'anyone', origin: 'there-before' }],
      expected: false,
    },
    {
      name: 'that an earlier version has recorded',
      names: ['app:1'],
      records: [{ reference: 'app:1', access: 'anyone' }],
      expected: false,
    },
  ])("$name is the cluster's: $expected", ({ names, records, expected }) => {
    expect(isBrought({ names }, records)).toBe(expected);
  });
});

describe('a disk', () => {
  const POLICY = { highPercent: 85, lowPercent: 80 };

  it.each([
    { used: 84, policy: POLICY, wanted: 0 },
    { used: 85, policy: POLICY, wanted: 50 },
    { used: 95, policy: POLICY, wanted: 150 },
    { used: 100, policy: { ...POLICY, highPercent: 100 }, wanted: 0 },
  ])('that is $used % full wants $wanted of 1000 bytes', ({ used, policy, wanted }) => {
    const disk = { capacityBytes: 1000, availableBytes: 1000 - used * 10 };
    expect(usedPercent(disk)).toBe(used);
    expect(bytesToFree(policy, disk)).toBe(wanted);
  });
});

it('images that were used the longest time ago go first, and young ones stay', () => {
  const image = (id: string, lastUsed: number) => ({ id, sizeBytes: 1, names: [id], lastUsed });
  const images = [image('c', 300), image('young', 901), image('b', 100), image('a', 300), image('old', 900)];
  expect(planCollection(images, { minAgeMs: 100 }, 1000).map(({ id }) => id)).toEqual(['b', 'a', 'c', 'old']);
});
