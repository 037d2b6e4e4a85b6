import { type GrowingInput, MAX_EXCESS, measureGrowth } from '@gantry/base/testing';
import type { Container, Volume } from '@gantry/objects';
import { expect, it } from 'vitest';
import { rememberReads } from '../spec/config-source.ts';
import { containerSpec } from '../spec/container-spec.ts';
import { containerEnvironment } from '../spec/environment.ts';
import { ContentBudget } from '../volumes/content-budget.ts';
import { downwardApiVolume, projectedVolume } from '../volumes/volume-types/projected.ts';
import { container, ENGINE, nodeFacts, pod } from './pods.ts';

const { signal } = new AbortController();
/** More values than an API server accepts in one pod. */
const MOST = 100_000;

const secret = async () => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: {},
  data: { key: Buffer.alloc(2 ** 20).toString('base64') },
});
const source = rememberReads({ configMap: async () => undefined, secret, trustBundles: async () => [] });
const facts = nodeFacts(1000);
const unlessRefused = (error: unknown) => {
  if (!/at most|the limit is/.test(String(error))) throw error;
};

async function define(change: Partial<Container>, more: readonly Container[] = []): Promise<unknown> {
  const object = pod({ containers: [container('main', change), ...more] });
  const context = { pod: object, podAddress: '', facts, source, volumeText: async () => undefined, base: {} };
  const environment = await containerEnvironment(container('main', change), context, signal);
  return containerSpec({
    owner: { cluster: 'c', node: 'n' },
    pod: object,
    container: container('main', change),
    attempt: 0,
    sandboxId: 's',
    group: 'engine',
    restartDelayMs: 0,
    environment,
    mounts: [],
    devices: [],
    image: { id: 'sha256:1', sizeBytes: 1, digests: [], user: '', labels: [] },
    engine: ENGINE,
    privilege: 'full',
    capacityBytes: 2 ** 30,
    processLimit: 1000,
  });
}

const VALUE = { name: 'A', value: 'x'.repeat(100_000) };
const times = <T>(count: number, each: (i: number) => T) => Array.from({ length: count }, (_, i) => each(i));

const CONTAINERS: Readonly<Record<string, (size: number) => Partial<Container>>> = {
  'variables that double': (size) => ({
    env: [{ name: 'A0', value: 'x' }, ...times(size, (i) => ({ name: `A${i + 1}`, value: `$(A${i})$(A${i})` }))],
  }),
  'variables of one name': (size) => ({ env: [VALUE, ...times(size, () => ({ name: 'B', value: '$(A)' }))] }),
  'references of one argument': (size) => ({ env: [VALUE], args: ['$(A)'.repeat(size)] }),
  'references to nothing': (size) => ({ env: [{ name: 'A', value: '' }], args: ['$(A)'.repeat(size * 7)] }),
  'references that never end': (size) => ({ args: ['$('.repeat(size * 15)] }),
  'amounts of containers': (size) => ({
    env: times(size / 10, (i) => ({
      name: `A${i}`,
      valueFrom: { resourceFieldRef: { containerName: `c${i}`, resource: 'limits.cpu' } },
    })),
  }),
};

const VOLUMES: Readonly<Record<string, (size: number) => Volume>> = {
  'items of annotations': (size) => ({
    name: 'v',
    downwardAPI: { items: times(size, (i) => ({ path: `${i}`, fieldRef: { fieldPath: 'metadata.annotations' } })) },
  }),
  'sources of one Secret': (size) => ({
    name: 'v',
    projected: { sources: times(size, (i) => ({ secret: { name: 's', items: [{ key: 'key', path: `${i}` }] } })) },
  }),
};

const INPUTS: readonly GrowingInput[] = [
  ...Object.entries(CONTAINERS).map(([shape, make]) => ({
    name: `a container: ${shape}`,
    largest: MOST,
    prepare: (size: number) => {
      const change = make(size);
      const more = times(shape === 'amounts of containers' ? size / 10 : 0, (i) => container(`c${i}`));
      return async () => await define(change, more).catch(unlessRefused);
    },
  })),
  ...Object.entries(VOLUMES).map(([shape, make]) => ({
    name: `a volume: ${shape}`,
    largest: MOST,
    prepare: (size: number) => {
      const volume = make(size);
      const annotations = { long: '\u0001'.repeat(110_000) };
      const type = volume.projected === undefined ? downwardApiVolume : projectedVolume;
      return async () => {
        const context = { pod: pod({}, {}, { annotations }), podAddress: '', facts, source, token: async () => '' };
        return await type.files(volume, { ...context, budget: new ContentBudget() }, signal).catch(unlessRefused);
      };
    },
  })),
];

it.each(INPUTS)('$name: linear time, and little memory', async (input) => {
  const { report, excess } = await measureGrowth(input);
  process.stdout.write(report);
  expect(excess).toBeLessThan(MAX_EXCESS);
  // With garbage; what these ask for are gigabytes and more.
  expect(process.memoryUsage().rss).toBeLessThan(600 * 2 ** 20);
});
