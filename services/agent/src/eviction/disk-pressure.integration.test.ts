/** A disk fills on the test's own engine. Unused images are removed first, then the pod that exceeds its request the most. */
import { systemClock } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import type { Pod } from '@gantry/objects';
import { silentLogger } from '@gantry/service';
import { expect, it } from 'vitest';
import { startRegistry } from '../docker/testing/engine-registry.ts';
import {
  BUSYBOX,
  type EngineNode,
  type EngineNodeOptions,
  PAUSE,
  runsAfter,
  scriptPod,
  startEngineNode,
} from '../docker/testing/engine-node.ts';
import { OwnEngine } from '../docker/testing/own-engine.ts';
import { ImageCollector } from '../images/image-collector.ts';
import { type CollectionPolicy, usedPercent } from '../images/plan-collection.ts';
import { HostShares } from '../node/host-shares.ts';
import { linuxHostMeter } from '../usage/linux-host-meter.ts';
import { NO_PRESSURE } from './plan.ts';
import { PressureManager } from './pressure-manager.ts';
import { parseThresholds } from './thresholds.ts';

const { signal } = new AbortController();
const MIB = 2 ** 20;
const TRANSITION_MS = 300_000;
const POLL = { timeout: 60_000, interval: 50 };

const meterOf = (engine: OwnEngine) => linuxHostMeter('/proc', engine.folder);

function collectorOf(engine: OwnEngine, { runtime, services }: EngineNode, policy: CollectionPolicy): ImageCollector {
  return new ImageCollector({
    ...policy,
    node: 'n',
    images: runtime.images,
    pulled: services.pulled,
    meter: meterOf(engine),
    sandboxImage: PAUSE,
    events: services.events,
    clock: systemClock,
    logger: silentLogger,
  });
}

/** Returns a manager with one hard threshold for the disk: the bytes that must be available. It uses the test's clock. */
function pressureOf(
  engine: OwnEngine,
  { usage, evictor, evictions, pods, services }: EngineNode,
  images: ImageCollector,
  clock: ManualClock,
  leastBytes: number,
): PressureManager {
  const nothing = { cpuMillis: 0, memoryBytes: 0, storageBytes: 0 };
  return new PressureManager({
    thresholds: parseThresholds({
      hard: `nodefs.available<${leastBytes}`,
      soft: '',
      softGracePeriod: '',
      minimumReclaim: '',
    }),
    transitionMs: TRANSITION_MS,
    maxPodGraceSeconds: 0,
    node: 'n',
    meter: meterOf(engine),
    shares: new HostShares({ cpus: 1, memoryBytes: 2 ** 30, storageBytes: 2 ** 30 }, nothing, 1),
    usage,
    storage: evictor,
    images,
    pods,
    evictions,
    turns: { isOurs: async () => true },
    events: services.events,
    clock,
    logger: silentLogger,
  });
}

const namesOf = async (engine: OwnEngine) =>
  (await engine.docker('images', '--format', '{{.Repository}}')).split('\n').toSorted();

/** When the file `/go` exists, writes this many MiB to a path, and then keeps running. */
const writer = (path: string, mib: number) =>
  `until test -f /go; do sleep 0.1; done; dd if=/dev/zero of=${path} bs=1M count=${mib}; touch /done; trap "exit 0" TERM; while true; do sleep 0.1; done`;

const idOf = (pod: Pod | undefined) => pod?.status?.containerStatuses?.[0]?.containerID?.replace('docker://', '') ?? '';

it('a node that is short of disk removes unused images it has pulled, then evicts the pod that is furthest above its request', async () => {
  await using engine = await OwnEngine.start({ diskMiB: 192 });
  await engine.load(BUSYBOX, PAUSE);
  const registry = await startRegistry(engine);
  let pressures: NonNullable<EngineNodeOptions['pressures']> = () => NO_PRESSURE.pressures;
  await using node = await startEngineNode(engine, { pressures: () => pressures() });
  const { puller } = node.services;
  const unused = await registry.publish('unused', 24);
  const used = await registry.publish('used', 4);
  const foreign = await registry.publish('foreign', 4);
  await puller.pull(unused, [], signal);
  await puller.pull(used, [], signal);
  await engine.docker('pull', '-q', foreign);
  const holding = { volumes: [{ name: 'files', image: { reference: used } }] };
  const holds = { volumeMounts: [{ name: 'files', mountPath: '/files' }] };
  const scratch = { volumes: [{ name: 'v', emptyDir: {} }] };
  const mounted = { volumeMounts: [{ name: 'v', mountPath: '/v' }] };
  const resources = { requests: { 'ephemeral-storage': '40Mi' } };
  await node.put(scriptPod('within', writer('/file', 22), holding, { resources, ...holds }));
  await node.put(scriptPod('little', writer('/v/file', 2), scratch, mounted));
  await node.put(scriptPod('hog', writer('/file', 16)));
  const names = ['within', 'little', 'hog'];
  for (const name of names) await node.until(name, runsAfter(0));

  const clock = new ManualClock(Date.now());
  const collector = collectorOf(engine, node, { highPercent: 100, lowPercent: 0, minAgeMs: 0 });
  const leading = collector.lead(node.stop.signal);
  const { disk } = await meterOf(engine).read();
  const least = disk.availableBytes + 8 * MIB;
  const pressure = pressureOf(engine, node, collector, clock, least);
  pressures = () => pressure.pressures();

  expect(await pressure.synchronize(signal)).toBeUndefined();
  expect(node.events).toContain('Warning EvictionThresholdMet Attempting to reclaim ephemeral-storage');
  expect(node.events).toContain('Normal NodeHasDiskPressure Node n status is now: NodeHasDiskPressure');
  const left = ['127.0.0.1:5000/foreign', '127.0.0.1:5000/used', 'busybox', 'registry.k8s.io/pause'];
  expect(await namesOf(engine)).toEqual(left);
  expect(await pressure.synchronize(signal)).toBeUndefined();
  for (const name of names) expect(node.find(name)).toSatisfy(runsAfter(0));

  await node.put(scriptPod('refused', 'true'));
  const { status: refused } = await node.until('refused', ({ status }) => status?.phase === 'Failed');
  expect(refused?.message).toBe('Pod was rejected: The node had condition: [DiskPressure]. ');
  await clock.advance(TRANSITION_MS);
  expect(await pressure.synchronize(signal)).toBeUndefined();
  expect(node.events).toContain('Normal NodeHasNoDiskPressure Node n status is now: NodeHasNoDiskPressure');
  expect(pressure.pressures()).toEqual([]);

  for (const name of names) await engine.docker('exec', idOf(node.find(name)), 'touch', '/go');
  for (const name of names) {
    const isDone = () => engine.docker('exec', idOf(node.find(name)), 'ls', '/').then((text) => text.includes('done'));
    await expect.poll(isDone, POLL).toBe(true);
  }
  expect(await pressure.synchronize(signal)).toBe(node.find('hog')?.metadata.uid);
  const { status } = await node.until('hog', (pod) => pod.status?.phase === 'Failed');
  expect(status?.reason).toBe('Evicted');
  expect(status?.message).toMatch(
    /^The node was low on resource: ephemeral-storage\. Threshold quantity: \d+(Ki|Mi)?, available: \d+(Ki|Mi)?\. Container main was using 1[67]\d+Ki, request is 0, has larger consumption of ephemeral-storage\. $/,
  );
  // The pod's layer is freed before another pod is evicted.
  await expect.poll(() => pressure.synchronize(signal), POLL).toBeUndefined();
  await expect.poll(() => node.containers('hog'), POLL).toEqual([]);
  for (const name of ['within', 'little']) expect(node.find(name)).toSatisfy(runsAfter(0));
  node.stop.abort();
  await leading;
});

it('from the high threshold on images go down to the low one, those that were used the longest time ago first', async () => {
  await using engine = await OwnEngine.start({ diskMiB: 96 });
  await engine.load(BUSYBOX, PAUSE);
  const registry = await startRegistry(engine);
  await using node = await startEngineNode(engine);
  const { puller } = node.services;
  for (const name of ['older', 'newer', 'foreign']) {
    const reference = await registry.publish(name, 8);
    if (name === 'foreign') await engine.docker('pull', '-q', reference);
    else await puller.pull(reference, [], signal);
  }
  const { disk } = await meterOf(engine).read();
  const percent = usedPercent(disk);
  const others = ['busybox', 'registry.k8s.io/pause', '127.0.0.1:5000/foreign'];
  const collect = async (policy: CollectionPolicy) => collectorOf(engine, node, policy).collect(signal);

  // The engine's own files grow and shrink meanwhile.
  await collect({ highPercent: percent + 2, lowPercent: 0, minAgeMs: 0 });
  const young = { highPercent: percent - 1, lowPercent: percent - 4, minAgeMs: 3_600_000 };
  await expect(collect(young)).rejects.toThrow(/Failed to free sufficient space by deleting unused images/);
  expect(node.events.some((event) => event.startsWith('Warning FreeDiskSpaceFailed '))).toBe(true);
  expect(await namesOf(engine)).toEqual([...others, '127.0.0.1:5000/older', '127.0.0.1:5000/newer'].toSorted());
  await collect({ ...young, minAgeMs: 0 });
  expect(await namesOf(engine)).toEqual([...others, '127.0.0.1:5000/newer'].toSorted());
  await expect(collect({ highPercent: 1, lowPercent: 0, minAgeMs: 0 })).rejects.toThrow(/Failed to free sufficient/);
  expect(await namesOf(engine)).toEqual(others.toSorted());
});
