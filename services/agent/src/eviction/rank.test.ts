import type { Container, PodSpec } from '@gantry/objects';
import { expect, it } from 'vitest';
import { container, pod } from '../testing/pods.ts';
import { type Candidate, compareRanks, podRequest, rankOf } from './rank.ts';
import type { StarvedResource } from './signals.ts';

const MI = 2 ** 20;

interface Use {
  readonly request?: string;
  readonly priority?: number;
  readonly used?: number;
  readonly volumeBytes?: number;
  readonly inodes?: number;
  readonly count?: Candidate['count'];
  readonly spec?: Partial<PodSpec>;
}

/** A pod with this name. Without `used`, nothing of it was measured. */
function candidate(name: string, resource: StarvedResource, use: Use): Candidate {
  const { request, priority, used, volumeBytes = 0, inodes = 0, count, spec = {} } = use;
  const of = resource === 'memory' ? 'memory' : 'ephemeral-storage';
  const resources: Container['resources'] = request === undefined ? {} : { requests: { [of]: request } };
  const part = { memory: 'memoryBytes', pids: 'processes' }[resource as string] ?? 'storageBytes';
  return {
    pod: pod(
      { containers: [container('main', { resources })], ...(priority === undefined ? {} : { priority }), ...spec },
      {},
      { name },
    ),
    containers: used === undefined ? [] : [{ name: 'main', [part]: used }],
    volumeBytes,
    inodes,
    ...(count === undefined ? {} : { count }),
  };
}

it.each<{ name: string; resource: StarvedResource; pods: Readonly<Record<string, Use>>; order: readonly string[] }>([
  {
    name: 'an unfinished count of the disk goes before larger ones of its order, and one that is missing goes last',
    resource: 'ephemeral-storage',
    pods: {
      missing: { count: 'missing' },
      calm: { used: 90 * MI },
      within: { used: 50 * MI, request: '60Mi', count: 'unfinished' },
      hog: { used: 50 * MI, count: 'unfinished' },
      huge: { used: 501 * MI },
    },
    order: ['huge', 'hog', 'calm', 'within', 'missing'],
  },
  {
    name: 'those above their requests go first, whatever their priority',
    resource: 'memory',
    pods: { below: { request: '300Mi', used: 200 * MI }, above: { request: '100Mi', used: 101 * MI, priority: 5 } },
    order: ['above', 'below'],
  },
  {
    name: 'then those of a low priority',
    resource: 'memory',
    pods: { high: { used: 900 * MI, priority: 10 }, low: { used: MI, priority: -1 }, none: { used: 2 * MI } },
    order: ['low', 'none', 'high'],
  },
  {
    name: 'then those that use the most above their requests',
    resource: 'memory',
    pods: {
      a: { request: '100Mi', used: 300 * MI },
      b: { request: '400Mi', used: 700 * MI },
      c: { used: 250 * MI },
      d: { request: '1Gi', used: 1000 * MI },
    },
    order: ['b', 'c', 'a', 'd'],
  },
  {
    name: 'those that were not measured go before all',
    resource: 'memory',
    pods: { known: { used: 900 * MI }, unknown: { request: '1Gi', priority: 100 } },
    order: ['unknown', 'known'],
  },
  {
    name: 'disks count volumes too',
    resource: 'ephemeral-storage',
    pods: {
      layer: { used: 200 * MI },
      volume: { used: 0, volumeBytes: 300 * MI },
      asked: { request: '1Gi', used: 900 * MI },
    },
    order: ['volume', 'layer', 'asked'],
  },
  {
    name: 'of inodes those go first that have the most, not the most bytes',
    resource: 'inodes',
    pods: { large: { used: 900 * MI, inodes: 10 }, many: { used: 0, inodes: 1_000_000 }, none: { used: 0 } },
    order: ['many', 'large', 'none'],
  },
  {
    name: 'a request for storage hides no inodes',
    resource: 'inodes',
    pods: { modest: { used: MI, inodes: 10 }, hiding: { request: '1Ti', used: 0, inodes: 1_000_000 } },
    order: ['hiding', 'modest'],
  },
  {
    name: 'the priority comes before the number of inodes, and after whether there are any',
    resource: 'inodes',
    pods: {
      high: { used: 0, inodes: 400_000, priority: 1 },
      low: { used: 0, inodes: 100_000, priority: -1 },
      none: { used: 0, priority: -2 },
      unknown: { priority: 5 },
    },
    order: ['unknown', 'low', 'high', 'none'],
  },
  {
    name: 'processes have no requests: the priority decides, then their number',
    resource: 'pids',
    pods: { few: { used: 3 }, many: { used: 300 }, low: { used: 1, priority: -1 } },
    order: ['low', 'many', 'few'],
  },
  {
    name: 'an init container, a sidecar, a pod-level request and an overhead count as requests',
    resource: 'memory',
    pods: {
      plain: { used: 10 * MI },
      init: {
        used: 100 * MI,
        spec: { initContainers: [container('init', { resources: { requests: { memory: '99Mi' } } })] },
      },
      sidecar: {
        used: 100 * MI,
        request: '50Mi',
        spec: {
          initContainers: [
            container('sidecar', { restartPolicy: 'Always', resources: { requests: { memory: '48Mi' } } }),
          ],
        },
      },
      whole: { used: 100 * MI, spec: { resources: { requests: { memory: '97Mi' } } } },
      overhead: { used: 100 * MI, request: '66Mi', spec: { overhead: { memory: '30Mi' } } },
    },
    order: ['plain', 'overhead', 'whole', 'sidecar', 'init'],
  },
])('$name', ({ resource, pods, order }) => {
  const all = Object.entries(pods).map(([name, use]) => candidate(name, resource, use));
  const ranked = all.toSorted((one, other) => compareRanks(rankOf(one, resource), rankOf(other, resource)));
  expect(ranked.map((one) => one.pod.metadata.name)).toEqual(order);
});

const asking = (memory: string) => container('main', { resources: { requests: { memory } } });

it('the request of a pod contains its overhead', () => {
  const object = pod({ containers: [asking('64Mi')], overhead: { memory: '16Mi' } });
  expect(podRequest(object, 'memory')).toBe(80 * MI);
});

it('a pod without a request requests nothing, whatever its overhead', () => {
  expect(podRequest(pod({ overhead: { memory: '16Mi' } }), 'memory')).toBe(0);
  expect(podRequest(pod({ containers: [asking('64Mi')] }), 'ephemeral-storage')).toBe(0);
});

it('an amount that is older than its validation counts as nothing, as for admission', () => {
  expect(podRequest(pod({ containers: [asking('much')] }), 'memory')).toBe(0);
});
