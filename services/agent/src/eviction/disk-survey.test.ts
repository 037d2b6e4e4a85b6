import { ManualClock } from '@gantry/base/testing';
import type { Pod } from '@gantry/objects';
import { silentLogger } from '@gantry/service';
import { expect, it } from 'vitest';
import type { PodUsage } from '../spec/local-storage.ts';
import { pod } from '../testing/pods.ts';
import { DiskSurvey } from './disk-survey.ts';

const using = (inodes: number, bytes = 0): PodUsage => ({
  emptyDirs: new Map([['scratch', bytes]]),
  files: 1,
  containers: new Map([['main', bytes]]),
  inodes,
});

/** How the storage of each pod is counted, by its name. */
type Counts = Record<string, (until: AbortSignal) => Promise<PodUsage>>;

function survey(counts: Counts) {
  const clock = new ManualClock();
  const pods = Object.keys(counts).map((name) => pod({}, {}, { name, uid: name }));
  const count = ({ metadata: { name = '' } }: Pod, until: AbortSignal) =>
    counts[name]?.(until) ?? Promise.resolve(using(0));
  const found = new DiskSurvey({ storage: { count }, clock, logger: silentLogger });
  const stop = new AbortController();
  /** What is known of each pod after so long. */
  const look = async (ms = 10_000) => {
    const candidates = found.candidates(pods, stop.signal);
    await clock.advance(ms);
    return (await candidates).map(({ pod: { metadata }, containers, volumeBytes, inodes }) => ({
      name: metadata.name,
      containers,
      volumeBytes,
      inodes,
    }));
  };
  return { counts, look, stop, found, pods };
}

const never = () => new Promise<never>(() => undefined);
/** Has counted so much when it is ended. */
const endless = (usage: PodUsage) => (until: AbortSignal) =>
  new Promise<PodUsage>((resolve) => until.addEventListener('abort', () => resolve(usage)));

it('a pod whose files are counted without end keeps no other from being known', async () => {
  const { look } = survey({ hanging: never, quick: async () => using(7, 5) });
  expect(await look()).toEqual([
    { name: 'hanging', containers: [], volumeBytes: 0, inodes: 0 },
    { name: 'quick', containers: [{ name: 'main', storageBytes: 5 }], volumeBytes: 6, inodes: 7 },
  ]);
});

it('of a pod with very many files there is what was counted in time', async () => {
  const { look } = survey({ many: endless(using(100_000)) });
  expect(await look()).toMatchObject([{ inodes: 100_000 }]);
});

it('what was known of a pod is what is known of it when it cannot be counted, and not less when that takes too long', async () => {
  const { counts, look } = survey({ one: async () => using(50, 400) });
  await look();
  counts['one'] = never;
  expect(await look()).toMatchObject([{ inodes: 50, volumeBytes: 401 }]);
  counts['one'] = () => Promise.reject(new Error('of the disk'));
  expect(await look()).toMatchObject([{ inodes: 50, volumeBytes: 401 }]);
  counts['one'] = endless(using(70, 30));
  expect(await look()).toMatchObject([{ inodes: 70, volumeBytes: 401, containers: [{ storageBytes: 400 }] }]);
  counts['one'] = async () => using(1, 2);
  expect(await look()).toMatchObject([{ inodes: 1, volumeBytes: 3 }]);
});

it('ends with its signal', async () => {
  const { found, pods, stop } = survey({ hanging: never });
  const candidates = found.candidates(pods, stop.signal);
  stop.abort(new Error('stopped'));
  await expect(candidates).rejects.toThrow('stopped');
});
