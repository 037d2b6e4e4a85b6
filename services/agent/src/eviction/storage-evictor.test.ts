import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ManualClock } from '@gantry/base/testing';
import { type Container, PODS, type PodSpec } from '@gantry/objects';
import { silentLogger } from '@gantry/service';
import { expect, it } from 'vitest';
import { container, pod } from '../testing/pods.ts';
import { OWNER, soon, startNode } from '../testing/start-node.ts';
import { Evictions } from './evictions.ts';
import { StorageEvictor } from './storage-evictor.ts';

const limited = (limit: string): Partial<Container> => ({ resources: { limits: { 'ephemeral-storage': limit } } });

/** A running pod whose containers have written this many bytes. */
async function running(spec: Partial<PodSpec>, writtenBytes: number) {
  let written = writtenBytes;
  const node = await startNode({ behaviour: { writtenBytes: () => written } });
  const { metadata } = await node.put(pod({ terminationGracePeriodSeconds: 300, ...spec }));
  const { uid = '' } = metadata;
  await soon(node, () => node.pods.get(uid)).toBeDefined();
  node.work(uid);
  const status = () => node.client.all(PODS)[0]?.status;
  await soon(node, () => status()?.phase).toBe('Running');
  const check = () => node.evictor.check(new AbortController().signal);
  const write = (bytes: number) => {
    written = bytes;
  };
  return { node, uid, status, check, write };
}

it('a pod that writes more than its containers may is evicted at once, whatever its grace period', async () => {
  const containers = [container('main', limited('1Mi'))];
  const { node, uid, status, check, write } = await running({ containers }, 2 ** 19);
  expect(node.evictor.storageOf(uid)).toBeUndefined();
  await check();
  expect(node.events.filter((event) => event.includes('Evicted'))).toEqual([]);
  expect(node.evictor.storageOf(uid)).toMatchObject({
    at: node.clock.now(),
    parts: new Map([['main', { layerBytes: 2 ** 19, logBytes: 0 }]]),
    storage: { containers: new Map([['main', 2 ** 19]]) },
  });
  write(2 ** 20 + 1);
  await check();
  await soon(node, () => status()?.phase).toBe('Failed');
  const message = 'Pod ephemeral local storage usage exceeds the total limit of containers 1Mi. ';
  expect(status()).toMatchObject({ reason: 'Evicted', message });
  expect(node.events.filter((event) => event.includes('Evicted'))).toEqual([`Warning Evicted ${message}`]);
  const [state] = await node.hollow.observer.listPods({ cluster: 'c' });
  expect(state?.containers.map(({ state: run }) => run)).toEqual(['exited']);
  node.evictor.forget(uid);
  expect(node.evictor.storageOf(uid)).toBeUndefined();
});

it('a pod is evicted when an emptyDir is larger than it may be', async () => {
  const volumes = [{ name: 'scratch', emptyDir: { sizeLimit: '100Ki' } }];
  const { node, uid, status, check } = await running({ volumes }, 0);
  await check();
  expect(status()?.phase).toBe('Running');
  await writeFile(join(node.path, 'pods', uid, 'volumes', 'scratch', 'file'), Buffer.alloc(200 * 1024));
  await check();
  await soon(node, () => status()?.reason).toBe('Evicted');
  expect(status()?.message).toBe('Usage of EmptyDir volume "scratch" exceeds the limit "100Ki". ');
});

it.each(['etc-hosts', 'resolv.conf', 'containers/main/0'])(
  'a pod is evicted for what a container writes into a file that the agent gave it: %s',
  async (file) => {
    const { node, uid, status, check } = await running({ containers: [container('main', limited('1Mi'))] }, 0);
    await check();
    expect(status()?.phase).toBe('Running');
    await writeFile(join(node.path, 'pods', uid, file), Buffer.alloc(2 ** 20));
    await check();
    await soon(node, () => status()?.reason).toBe('Evicted');
  },
);

it('a pod is evicted while a postStart hook of it does not end', async () => {
  const node = await startNode();
  const volumes = [{ name: 'scratch', emptyDir: { sizeLimit: '100Ki' } }];
  const containers = [container('main', { lifecycle: { postStart: { sleep: { seconds: 3600 } } } })];
  const { metadata } = await node.put(pod({ volumes, containers }));
  const { uid = '' } = metadata;
  await soon(node, () => node.pods.get(uid)).toBeDefined();
  node.work(uid);
  await soon(node, async () => (await node.hollow.observer.listPods(OWNER))[0]?.containers[0]?.state).toBe('running');
  await writeFile(join(node.path, 'pods', uid, 'volumes', 'scratch', 'file'), Buffer.alloc(200 * 1024));
  await node.evictor.check(new AbortController().signal);
  await soon(node, () => node.client.all(PODS)[0]?.status?.reason).toBe('Evicted');
});

it('a pod whose files take long to measure keeps no other pod from being measured', async () => {
  const clock = new ManualClock();
  const volumes = [{ name: 'scratch', emptyDir: { sizeLimit: '100Ki' } }];
  const all = ['slow', 'quick'].map((uid) => pod({ volumes }, {}, { uid }));
  const measured: string[] = [];
  const evictor = new StorageEvictor({
    pods: { list: () => all, get: (uid) => all.find(({ metadata }) => metadata.uid === uid) },
    stats: { findFolders: async () => new Map(), readStorage: async () => new Map() },
    volumes: {
      diskUsage: async ({ metadata: { uid = '' } }) => {
        measured.push(uid);
        if (uid === 'slow') await clock.advance(600_000);
        return { emptyDirs: new Map(), files: 0, inodes: 0 };
      },
    },
    hostFiles: { usageOf: async () => ({ bytes: 0, inodes: 0 }) },
    evictions: new Evictions({ event: () => undefined }),
    clock,
    logger: silentLogger,
  });
  const { signal } = new AbortController();
  expect(await evictor.check(signal)).toBe(500);
  expect(await evictor.check(signal)).toBe(0);
  expect(measured).toEqual(['slow', 'quick', 'quick']);
  await clock.advance(20 * 600_000);
  await evictor.check(signal);
  expect(measured.slice(3)).toEqual(['slow', 'quick']);
});

it('a pod without limits, and one that a cluster cannot do without, is not measured', async () => {
  for (const spec of [{}, { priority: 2_000_000_000, containers: [container('main', limited('1Mi'))] }]) {
    const { node, status, check } = await running(spec, 2 ** 40);
    await check();
    expect(status()?.phase).toBe('Running');
    expect(node.events.filter((event) => event.includes('Evicted'))).toEqual([]);
  }
});

it('counts the inodes of all that a pod has written: its volumes, the files that it was given, its layers', async () => {
  const volumes = [{ name: 'scratch', emptyDir: {} }];
  const node = await startNode({ behaviour: { layerFolder: () => '/layer' } });
  const { metadata } = await node.put(pod({ volumes }));
  const { uid = '' } = metadata;
  await soon(node, () => node.pods.get(uid)).toBeDefined();
  node.work(uid);
  await soon(node, () => node.client.all(PODS)[0]?.status?.phase).toBe('Running');
  const { signal } = new AbortController();
  const found = () => node.client.all(PODS)[0] ?? pod({});
  const { inodes: before } = await node.evictor.countUsage(found(), signal);
  const scratch = join(node.path, 'pods', uid, 'volumes', 'scratch');
  await mkdir(join(node.path, 'layer'));
  for (let made = 0; made < 10; made++) await writeFile(join(node.path, 'layer', `${made}`), '');
  await writeFile(join(node.path, 'layer', 'large'), Buffer.alloc(2 ** 20));
  for (let made = 0; made < 20; made++) await mkdir(join(scratch, `${made}`));
  const { inodes, containers } = await node.evictor.countUsage(found(), signal);
  expect(inodes - before).toBe(1 + 10 + 1 + 20);
  expect(containers.get('main')).toBeGreaterThanOrEqual(2 ** 20);
});

it('counts the bytes of a layer by the engine where that does not tell its folder', async () => {
  const { node, uid } = await running({}, 12_345);
  const { containers } = await node.evictor.countUsage(node.pods.get(uid) ?? pod({}), new AbortController().signal);
  expect(containers.get('main')).toBe(12_345);
});
