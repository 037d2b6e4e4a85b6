import { untilAborted } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import type { Pod } from '@gantry/objects';
import { silentLogger } from '@gantry/service';
import { expect, it } from 'vitest';
import type { PodUsage } from '../spec/local-storage.ts';
import { pod } from '../testing/pods.ts';
import { DiskSurvey } from './disk-survey.ts';
import { compareRanks, rankOf } from './rank.ts';

const using = (inodes: number, bytes = 0): PodUsage => ({
  emptyDirs: new Map([['scratch', bytes]]),
  files: 1,
  containers: new Map([['main', bytes]]),
  inodes,
});

/** The counting of each pod's storage, by pod name. */
type Counts = Record<string, (until: AbortSignal) => Promise<PodUsage>>;

function survey(counts: Counts) {
  const clock = new ManualClock();
  const pods = Object.keys(counts).map((name) => pod({}, {}, { name, uid: name }));
  const countUsage = ({ metadata: { name = '' } }: Pod, until: AbortSignal) =>
    counts[name]?.(until) ?? Promise.resolve(using(0));
  const found = new DiskSurvey({ storage: { countUsage }, clock, logger: silentLogger });
  const stop = new AbortController();
  /** Returns the known usage of each pod after this time. */
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
  /** Returns the names of the pods in the order in which a lack of inodes would evict them. */
  const order = async (ms?: number) => {
    const candidates = found.candidates(pods, stop.signal);
    await clock.advance(ms ?? 10_000);
    return (await candidates)
      .map((candidate) => ({ name: candidate.pod.metadata.name, rank: rankOf(candidate, 'inodes') }))
      .toSorted((one, other) => compareRanks(one.rank, other.rank))
      .map(({ name }) => name);
  };
  return { counts, look, order, stop, found, pods, clock };
}

const never = () => new Promise<never>(() => undefined);
/** Counts until it is ended, and then has this usage. */
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
  counts['one'] = () => Promise.reject(new Error('of the disk'));
  expect(await look()).toMatchObject([{ inodes: 50, volumeBytes: 401 }]);
  counts['one'] = endless(using(70, 30));
  expect(await look()).toMatchObject([{ inodes: 70, volumeBytes: 401, containers: [{ storageBytes: 400 }] }]);
  counts['one'] = async () => using(1, 2);
  expect(await look()).toMatchObject([{ inodes: 1, volumeBytes: 3 }]);
  counts['one'] = never;
  expect(await look()).toMatchObject([{ inodes: 1, volumeBytes: 3 }]);
});

it('ends with its signal', async () => {
  const { found, pods, stop } = survey({ hanging: never });
  const candidates = found.candidates(pods, stop.signal);
  stop.abort(new Error('stopped'));
  await expect(candidates).rejects.toThrow('stopped');
});

it('an unfinished count goes before complete ones of its order of size, and after much larger ones', async () => {
  const { order } = survey({ calm: async () => using(90), hog: endless(using(50)), huge: async () => using(10_000) });
  expect(await order()).toEqual(['huge', 'hog', 'calm']);
});

it('pods that could not be counted go last', async () => {
  const { order } = survey({
    hanging: never,
    broken: () => Promise.reject(new Error('EMFILE')),
    hog: async () => using(1_000_000),
  });
  expect(await order()).toEqual(['hog', 'hanging', 'broken']);
});

it('a few pods are counted at once, and a count that was left has no second one beside it', async () => {
  let [now, most] = [0, 0];
  const begun: string[] = [];
  const counted = (name: string) => async (until: AbortSignal) => {
    begun.push(name);
    most = Math.max(most, ++now);
    await untilAborted(until);
    now--;
    return using(1);
  };
  const many = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`${index}`, counted(`${index}`)]));
  const hanging = () => {
    begun.push('hanging');
    return never();
  };
  const { look } = survey({ hanging, ...many });
  for (let looks = 0; looks < 5; looks++) await look();
  expect(most).toBe(4);
  expect(begun.filter((name) => name === 'hanging')).toHaveLength(1);
});

it('pods with very many files let each of the others have its turn, and one that needs a longer turn gets it', async () => {
  const hogs = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`hog-${index}`, endless(using(1000))]));
  const { counts, look, clock } = survey({ ...hogs, last: async () => using(7) });
  const last = async () => (await look()).at(-1);
  expect(await last()).toMatchObject({ containers: [] });
  expect(await last()).toMatchObject({ inodes: 7 });
  let unfinished = 0;
  counts['last'] = (until) =>
    new Promise((resolve) => {
      clock.setTimer(3000, () => resolve(using(9000)));
      until.addEventListener('abort', () => void (unfinished++, resolve(using(5000))));
    });
  for (let looks = 0; looks < 12; looks++) await look();
  expect(await last()).toMatchObject({ inodes: 9000 });
  expect(unfinished).toBeLessThan(4);
});
