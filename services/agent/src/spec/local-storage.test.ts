import type { Container, Volume } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { container, pod } from '../testing/pods.ts';
import { emptyDirsOnDisk, limitsStorage, storageExcess } from './local-storage.ts';

const MI = 2 ** 20;
const limited = (name: string, limit: string): Container =>
  container(name, { resources: { limits: { 'ephemeral-storage': limit } } });
const scratch = (sizeLimit?: string): Volume => ({
  name: 'scratch',
  emptyDir: sizeLimit === undefined ? {} : { sizeLimit },
});
const excess = (containers: Container[], volumes: Volume[], used: Record<string, number>, scratchBytes = 0) =>
  storageExcess(pod({ containers, volumes }), {
    files: 0,
    emptyDirs: new Map([['scratch', scratchBytes]]),
    containers: new Map(Object.entries(used)),
  });

describe('the local storage of a pod', () => {
  it.each([
    [
      'an emptyDir above its size',
      [container()],
      [scratch('1Mi')],
      {},
      MI + 1,
      'Usage of EmptyDir volume "scratch" exceeds the limit "1Mi". ',
    ],
    ['an emptyDir of its size', [container()], [scratch('1Mi')], {}, MI, undefined],
    ['an emptyDir without a size', [container()], [scratch()], {}, 2 ** 40, undefined],
    ['an emptyDir whose size is zero', [container()], [scratch('0')], {}, 2 ** 40, undefined],
    [
      'one container above its limit',
      [limited('a', '1Mi'), limited('b', '3Mi')],
      [],
      { a: MI + 1, b: 0 },
      0,
      'Container a exceeded its local ephemeral storage limit "1Mi". ',
    ],
    [
      'all together above their limits',
      [limited('a', '1Mi'), limited('b', '3Mi')],
      [],
      { a: MI, b: 3 * MI + 1 },
      0,
      'Pod ephemeral local storage usage exceeds the total limit of containers 4Mi. ',
    ],
    [
      'all together with an emptyDir',
      [limited('a', '1Mi')],
      [scratch()],
      { a: 1 },
      MI,
      'Pod ephemeral local storage usage exceeds the total limit of containers 1Mi. ',
    ],
    [
      'all together within their limits',
      [limited('a', '1Mi'), limited('b', '3Mi')],
      [scratch()],
      { a: MI, b: MI },
      2 * MI,
      undefined,
    ],
    ['a container without a limit', [container('a')], [], { a: 2 ** 40 }, 0, undefined],
  ])('with %s', (_, containers, volumes, used, scratchBytes, message) => {
    expect(excess(containers, volumes, used, scratchBytes)).toBe(message);
  });

  it('is measured only where the pod limits it', () => {
    expect(limitsStorage(pod({ volumes: [scratch()] }))).toBe(false);
    expect(limitsStorage(pod({ volumes: [scratch('1Mi')] }))).toBe(true);
    expect(limitsStorage(pod({ containers: [limited('a', '1Mi')] }))).toBe(true);
    expect(limitsStorage(pod({ containers: [limited('a', '0')] }))).toBe(false);
  });

  it('has no emptyDir that lies in memory: that is limited by itself', () => {
    const volumes: Volume[] = [scratch('1Mi'), { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } }];
    expect(emptyDirsOnDisk(pod({ volumes }))).toEqual([{ name: 'scratch', limit: '1Mi' }]);
  });
});
