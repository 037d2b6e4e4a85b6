import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Container, type Pod, PODS } from '@gantry/objects';
import { silentLogger } from '@gantry/service';
import { expect, it, onTestFinished } from 'vitest';
import { container, pod } from '../testing/pods.ts';
import { soon, startNode, type TestNode } from '../testing/start-node.ts';
import { linuxHostMeter } from '../usage/linux-host-meter.ts';
import { PressureManager, type PressureManagerOptions } from './pressure-manager.ts';
import { parseThresholds, type ThresholdSettings } from './thresholds.ts';
import type { HostReading } from '../runtime/stats.ts';

const MI = 2 ** 20;
/** The memory use of a pod's containers, by pod name. */
const USE: Readonly<Record<string, number>> = { small: 10 * MI, large: 300 * MI, critical: 900 * MI };

interface Started {
  readonly node: TestNode;
  readonly manager: PressureManager;
  /** Sets how much of the host's 16 GiB of memory is left. */
  readonly leave: (mebibytes: number) => Promise<void>;
  readonly status: (name: string) => Pod['status'];
  readonly evicted: () => readonly string[];
  readonly synchronize: () => Promise<string | undefined>;
}

/** Starts a node with these running pods. The settings define its thresholds. */
async function start(
  pods: readonly Pod[],
  settings: Partial<ThresholdSettings>,
  nodes = 1,
  change: (node: TestNode) => Partial<PressureManagerOptions> = () => ({}),
): Promise<Started> {
  let pressures: () => ReturnType<PressureManager['pressures']> = () => [];
  const usage = ({ pod: { name } }: { readonly pod: { readonly name: string } }) => ({
    cpuMillis: 0,
    memoryBytes: USE[name] ?? 0,
  });
  const node = await startNode({ behaviour: { usage }, pressures: () => pressures() });
  const proc = await mkdtemp(join(tmpdir(), 'proc-'));
  onTestFinished(() => rm(proc, { recursive: true }));
  await mkdir(join(proc, 'sys', 'kernel'), { recursive: true });
  await writeFile(join(proc, 'loadavg'), '0 0 0 1/100 1');
  await writeFile(join(proc, 'sys', 'kernel', 'pid_max'), '1000');
  await writeFile(join(proc, 'sys', 'kernel', 'threads-max'), '1000');
  const leave = (mebibytes: number) =>
    writeFile(
      join(proc, 'meminfo'),
      `MemTotal: ${2 ** 24} kB\nMemFree: ${mebibytes * 1024} kB\nInactive(file): 0 kB\n`,
    );
  await leave(8192);
  const { clock, evictions, evictor, services } = node;
  const manager = new PressureManager({
    thresholds: parseThresholds({ hard: '', soft: '', softGracePeriod: '', minimumReclaim: '', ...settings }),
    transitionMs: 300_000,
    maxPodGraceSeconds: 0,
    node: 'n',
    meter: linuxHostMeter(proc, node.path),
    shares: { count: nodes, allocatable: () => ({ cpuMillis: 1000, memoryBytes: 2 ** 34, storageBytes: 2 ** 34 }) },
    usage: node.usage,
    storage: evictor,
    images: { deleteUnused: async () => 0 },
    pods: node.pods,
    evictions,
    turns: { isOurs: async () => false },
    events: services.events,
    clock,
    logger: silentLogger,
    ...change(node),
  });
  pressures = () => manager.pressures();
  for (const one of pods) {
    const { metadata } = await node.put(one);
    const { uid = '' } = metadata;
    await soon(node, () => node.pods.get(uid)).toBeDefined();
    node.work(uid);
  }
  const status = (name: string) => node.client.all(PODS).find(({ metadata }) => metadata.name === name)?.status;
  for (const { metadata } of pods) await soon(node, () => status(metadata.name ?? '')?.phase).toBe('Running');
  void node.usage.run(node.stop.signal);
  await clock.advance(10_000);
  return {
    node,
    manager,
    leave,
    status,
    evicted: () => node.events.filter((event) => event.includes(' Evicted ')),
    synchronize: () => manager.synchronize(node.stop.signal),
  };
}

const PLENTY = { availableBytes: 2 ** 40, capacityBytes: 2 ** 40 };
const FEW_INODES: HostReading = {
  memory: PLENTY,
  disk: { ...PLENTY, freeInodes: 4, inodes: 100 },
  processes: { available: 1000, capacity: 1000 },
};

const named = (name: string, spec: Partial<Pod['spec']> = {}): Pod => pod({ ...spec }, {}, { name });
const LOW_MEMORY = { hard: 'memory.available<100Mi' };

it('a node short of memory evicts one pod, the one with the largest use, with the reason of the kubelet', async () => {
  const { node, manager, leave, status, evicted, synchronize } = await start(
    [named('small'), named('large'), named('critical', { priority: 2_000_000_000 })],
    LOW_MEMORY,
  );
  expect(await synchronize()).toBeUndefined();
  expect(manager.pressures()).toEqual([]);
  await leave(99);
  const uid = await synchronize();
  await soon(node, () => status('large')?.phase).toBe('Failed');
  const message =
    'The node was low on resource: memory. Threshold quantity: 100Mi, available: 99Mi. Container main was using 300Mi, request is 0, has larger consumption of memory. ';
  expect(status('large')).toMatchObject({ reason: 'Evicted', message });
  expect(status('large')?.conditions).toContainEqual(
    expect.objectContaining({ type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet', message }),
  );
  expect(uid).toBe(node.client.all(PODS).find(({ metadata }) => metadata.name === 'large')?.metadata.uid);
  expect(evicted()).toEqual([`Warning Evicted ${message}`]);
  expect(node.events).toContain('Warning EvictionThresholdMet Attempting to reclaim memory');
  expect(node.events).toContain('Normal NodeHasInsufficientMemory Node n status is now: NodeHasInsufficientMemory');
  expect(status('small')?.phase).toBe('Running');
  // The critical pod is never evicted, however little memory is left.
  await synchronize();
  await soon(node, () => status('small')?.phase).toBe('Failed');
  expect(await synchronize()).toBeUndefined();
  expect(status('critical')?.phase).toBe('Running');
});

it('a node of several waits until it is its turn', async () => {
  const { leave, evicted, synchronize } = await start([named('large')], LOW_MEMORY, 2);
  await leave(150);
  expect(await synchronize()).toBeUndefined();
  expect(evicted()).toEqual([]);
});

it('a pod that is evicted for a soft threshold has the grace that the node allows', async () => {
  const soft = { soft: 'memory.available<100Mi', softGracePeriod: 'memory.available=30s' };
  const { node, leave, synchronize } = await start([named('large')], soft);
  await leave(10);
  expect(await synchronize()).toBeUndefined();
  await node.clock.advance(30_000);
  const uid = await synchronize();
  expect(node.evictions.evictionOf(uid ?? '')?.graceSeconds).toBe(0);
});

it('a node under pressure refuses new pods, and keeps those that it has', async () => {
  const critical = named('critical', { priority: 2_000_000_000 });
  const { node, leave, status, synchronize } = await start([critical], LOW_MEMORY);
  await leave(10);
  await synchronize();
  const late = { ...named('late'), status: { qosClass: 'BestEffort' } };
  const { uid = '' } = (await node.put(late)).metadata;
  await soon(node, () => node.pods.get(uid)).toBeDefined();
  node.work(uid);
  await soon(node, () => status('late')?.phase).toBe('Failed');
  const message = 'The node had condition: [MemoryPressure]. ';
  expect(status('late')).toMatchObject({ reason: 'Evicted', message: `Pod was rejected: ${message}` });
  expect(node.events).toContain(`Warning Evicted ${message}`);
  expect(status('critical')?.phase).toBe('Running');
});

it('a pod that runs is not refused by an agent that was started anew under pressure', async () => {
  const first = await start([named('small')], LOW_MEMORY);
  const { uid = '' } = first.node.client.all(PODS)[0]?.metadata ?? {};
  first.node.stop.abort();
  const node = await startNode({ world: first.node, pressures: () => ['DiskPressure'] });
  await soon(node, () => node.pods.get(uid)).toBeDefined();
  node.work(uid);
  await node.clock.advance(1000);
  expect(first.status('small')?.phase).toBe('Running');
});

it('a node short of disk takes the containers of ended pods first, then evicts the pod that wrote the most', async () => {
  const done = named('small', { restartPolicy: 'Never' });
  const limits: Partial<Container> = { resources: { requests: { 'ephemeral-storage': '1Ki' } } };
  const { node, status, evicted, synchronize } = await start(
    [done, named('large', { containers: [container('main', limits)] })],
    { hard: 'nodefs.available<99.99999999%' },
  );
  const containers = async () =>
    (await node.hollow.observer.listPods({ cluster: 'c' })).map(({ identity }) => identity.name).toSorted();
  const [state] = (await node.hollow.observer.listPods({ cluster: 'c' })).filter(
    ({ identity }) => identity.name === 'small',
  );
  node.hollow.exit(state?.containers[0]?.id ?? '', 0);
  await soon(node, () => status('small')?.phase).toBe('Succeeded');
  const before = status('small')?.containerStatuses;
  expect(await synchronize()).toBeUndefined();
  await soon(node, containers).toEqual(['large']);
  expect(status('small')).toMatchObject({ phase: 'Succeeded', containerStatuses: before });
  expect(evicted()).toEqual([]);
  await synchronize();
  await soon(node, () => status('large')?.reason).toBe('Evicted');
  expect(evicted()[0]).toContain('The node was low on resource: ephemeral-storage. Threshold quantity: ');
});

it('a node short of inodes evicts the pod that has the most, though others have written more', async () => {
  const volumes = [{ name: 'scratch', emptyDir: {} }];
  const { node, status, evicted, synchronize } = await start(
    [named('small', { volumes }), named('large', { volumes })],
    { hard: 'nodefs.inodesFree<5%' },
    1,
    () => ({ meter: { read: async () => FEW_INODES } }),
  );
  const folderOf = (name: string) => {
    const { uid = '' } = node.client.all(PODS).find(({ metadata }) => metadata.name === name)?.metadata ?? {};
    return join(node.path, 'pods', uid, 'volumes', 'scratch');
  };
  await writeFile(join(folderOf('large'), 'file'), Buffer.alloc(MI));
  for (let made = 0; made < 100; made++) await writeFile(join(folderOf('small'), `${made}`), '');
  await synchronize();
  await soon(node, () => status('small')?.reason).toBe('Evicted');
  expect(evicted()[0]).toContain('The node was low on resource: inodes. Threshold quantity: ');
  expect(status('large')?.phase).toBe('Running');
});

const never = () => new Promise<never>(() => undefined);

/** Returns the result of work that waits for the clock. */
async function outcome<T>(node: TestNode, work: Promise<T>): Promise<T> {
  const ended = new AbortController();
  const result = work.finally(() => ended.abort());
  const step = async () => {
    await node.clock.advance(1000);
    return ended.signal.aborted;
  };
  await expect.poll(step).toBe(true);
  return await result;
}

it('images that take long to remove keep memory from no look', async () => {
  const hard = 'memory.available<100Mi,nodefs.available<99.99999999%';
  const images = () => ({ images: { deleteUnused: never } });
  const { node, leave, evicted, synchronize } = await start([named('small')], { hard }, 1, images);
  expect(await outcome(node, synchronize())).toBeUndefined();
  await leave(10);
  await outcome(node, synchronize());
  expect(evicted()).toEqual([expect.stringContaining('low on resource: memory')]);
});

it('pods whose files cannot be counted in time hold no eviction up', async () => {
  const hard = 'nodefs.available<99.99999999%';
  const { node, evicted, synchronize } = await start([named('small')], { hard }, 1, ({ evictor }) => ({
    storage: { countUsage: never, reclaimable: () => evictor.reclaimable() },
  }));
  await outcome(node, synchronize());
  expect(evicted()).toEqual([expect.stringContaining('low on resource: ephemeral-storage')]);
});

it('an evicted pod is waited for before the next look', async () => {
  const { node, manager, leave, evicted } = await start([named('small'), named('large')], LOW_MEMORY);
  await leave(10);
  node.hollow.behave({ stopMs: 800 });
  void manager.run(node.stop.signal);
  await soon(node, evicted).toHaveLength(1);
  const first = node.clock.monotonicMs();
  const step = async () => {
    await node.clock.advance(500);
    return evicted();
  };
  await expect.poll(step).toHaveLength(2);
  // The ten seconds between two looks start when the first pod is gone.
  expect(node.clock.monotonicMs() - first).toBeGreaterThan(10_600);
});
