import { expect, it } from 'vitest';
import { sandboxNetwork, layerOf, upperFolder } from './docker-stats.ts';

const overlay = (upper: string, path = '/') =>
  `591 452 0:78 / ${path} rw,relatime master:211 - overlay overlay rw,lowerdir=/a/1:/a/2,upperdir=${upper},workdir=/a/work`;
const PROC = '592 591 0:81 / /proc rw,nosuid - proc proc rw';
/** Larger than any process id of Linux. */
const NO_PROCESS = 2 ** 23;

it.each([
  ['a process that runs', [[process.pid], [process.pid]], true],
  ['no process', [[], []], false],
  ['a process that has ended', [[NO_PROCESS], []], false],
  ['a process whose id another one has got meanwhile', [[process.pid], []], false],
])('reads the network of %s', async (_name, lists, isKnown) => {
  const found = await sandboxNetwork('id', { processesOf: async () => lists.shift() ?? [] });
  expect(found !== undefined).toBe(isKnown);
});

it.each<[string, string, string | undefined]>([
  ['the root is an overlay', `${overlay('/a/3/fs')}\n${PROC}\n`, '/a/3/fs'],
  ['an overlay is mounted elsewhere', `${PROC}\n${overlay('/a/4/fs', '/mnt')}\n`, undefined],
  ['the upper folder is relative', overlay('3/diff'), undefined],
  ['the root is of another kind', '591 452 8:1 / / rw - ext4 /dev/sda1 rw,upperdir=/a', undefined],
  ['there is nothing', '', undefined],
])('a writable layer is found in the mounts of a process: %s', (_what, mounts, folder) => {
  expect(upperFolder(mounts)).toBe(folder);
});

it('a writable layer is the one that the engine names', async () => {
  expect(await layerOf({ GraphDriver: { Data: { UpperDir: '/a/1/diff' } }, State: { Pid: 1 } })).toBe('/a/1/diff');
  expect(await layerOf({ GraphDriver: { Data: null }, State: { Pid: 0 } })).toBeUndefined();
  expect(await layerOf({})).toBeUndefined();
});
