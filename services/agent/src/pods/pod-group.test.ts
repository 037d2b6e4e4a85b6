import { type Container, type Pod, PODS, type ResourceRequirements } from '@gantry/objects';
import { expect, it } from 'vitest';
import type { PodGroupRuntime } from '../runtime/pod-groups.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { HollowRuntime } from '../hollow/hollow-runtime.ts';
import { container, pod } from '../testing/pods.ts';
import { OWNER, soon, startNode } from '../testing/start-node.ts';
import { ownWorkers, PodManager } from './pod-manager.ts';

const MIB = 2 ** 20;
const whole = (cpu: string, memory: string): ResourceRequirements => ({
  requests: { cpu, memory },
  limits: { cpu, memory },
});
const SMALL = whole('1', '100Mi');
const LARGE = whole('2', '200Mi');

/** Notes the limits that are set for pods and containers, in order. */
function noted(calls: string[], change: Partial<PodGroupRuntime> = {}): (hollow: HollowRuntime) => Runtime {
  return (hollow) => {
    const { podGroups, containers } = hollow;
    return {
      ...{
        sandboxes: hollow.sandboxes,
        pauses: hollow.pauses,
        images: hollow.images,
        imageVolumes: hollow.imageVolumes,
        imageFiles: hollow.imageFiles,
      },
      ...{ observer: hollow.observer, logs: hollow.logs, stats: hollow.stats, streams: hollow.streams },
      engine: hollow.engine,
      podGroups: {
        ...podGroups,
        updatePodGroup: (one, limits) => {
          calls.push(`pod ${JSON.stringify(limits)}`);
          return podGroups.updatePodGroup(one, limits);
        },
        ...change,
      },
      containers: {
        ...containers,
        updateContainer: (id, limits) => {
          calls.push(`container ${JSON.stringify(limits)}`);
          return containers.updateContainer(id, limits);
        },
      },
    };
  };
}

/** Starts a pod that uses 80 MiB. `use` changes that, `change` changes the pod, and the rest reads its state. */
async function startPod(resources: ResourceRequirements | undefined, main: Partial<Container> = {}) {
  const use = { mib: 80 };
  const calls: string[] = [];
  const usage = () => ({ cpuMillis: 0, memoryBytes: use.mib * MIB });
  const node = await startNode({ behaviour: { usage }, wrap: noted(calls) });
  const containers = [container('main', main)];
  const { metadata } = await node.put(pod({ containers, ...(resources === undefined ? {} : { resources }) }));
  const { uid = '' } = metadata;
  await node.clock.advance(10);
  node.work(uid);
  const read = (): Pod | undefined => node.client.all(PODS)[0];
  await soon(node, () => read()?.status?.phase).toBe('Running');
  const change = async (spec: Partial<Pod['spec']>) => {
    const { spec: before = { containers }, ...rest } = read() ?? pod();
    await node.client.update(PODS, { ...rest, spec: { ...before, ...spec } }, node.stop.signal);
  };
  const state = async () => (await node.hollow.observer.listPods({ cluster: 'c' }))[0];
  const held = async () => [(await state())?.group?.limits, (await state())?.containers[0]?.resources];
  const condition = (type: string) => read()?.status?.conditions?.find((one) => one.type === type);
  return { node, uid, use, calls, read, change, state, held, condition };
}

const SMALL_LIMITS = { cpuShares: 1024, cpuQuotaMicros: 100_000, memoryBytes: 100 * MIB };
const LARGE_LIMITS = { cpuShares: 2048, cpuQuotaMicros: 200_000, memoryBytes: 200 * MIB };

it('a pod that says something for itself has a control group from its sandbox on, and its status says what it holds', async () => {
  const { held, read } = await startPod(SMALL);
  expect(await held()).toEqual([SMALL_LIMITS, SMALL_LIMITS]);
  await expect.poll(() => read()?.status).toMatchObject({ resources: SMALL, allocatedResources: SMALL.requests });
});

it('other pods have none, and their status says what their containers have together', async () => {
  const { node, held, read, change } = await startPod(undefined, { resources: SMALL });
  expect(await held()).toEqual([undefined, SMALL_LIMITS]);
  expect(read()?.status).toMatchObject({ resources: SMALL, allocatedResources: SMALL.requests });
  const requests = { cpu: '2', memory: '100Mi' };
  await change({ resources: { requests } });
  await soon(node, () => read()?.status).toMatchObject({ resources: { requests }, allocatedResources: requests });
  expect(read()?.status?.resources).not.toHaveProperty('limits');
  expect(await held()).toEqual([undefined, SMALL_LIMITS]);
});

it('the status of a pod is not written again where nothing changes', async () => {
  for (const resources of [SMALL, {}]) {
    const { node, read } = await startPod(undefined, { resources });
    await soon(node, () => read()?.status?.containerStatuses?.[0]?.ready).toBe(true);
    await node.clock.advance(5_000);
    const before = read()?.metadata.resourceVersion;
    await node.clock.advance(120_000);
    expect(read()?.metadata.resourceVersion).toBe(before);
  }
});

it('a resize gives a pod more before its containers, and less after them', async () => {
  const { node, calls, held, change, condition, read } = await startPod(SMALL);
  await change({ resources: LARGE });
  await soon(node, held).toEqual([LARGE_LIMITS, LARGE_LIMITS]);
  const [large, small] = [JSON.stringify(LARGE_LIMITS), JSON.stringify(SMALL_LIMITS)];
  expect(calls.splice(0)).toEqual([`pod ${large}`, `container ${large}`]);
  await soon(node, () => condition('PodResizeInProgress')).toBeUndefined();
  await soon(node, () => read()?.status).toMatchObject({ resources: LARGE, allocatedResources: LARGE.requests });
  expect(node.events.some((event) => event.startsWith('Normal ResizeCompleted'))).toBe(true);
  await change({ resources: SMALL });
  await soon(node, held).toEqual([SMALL_LIMITS, SMALL_LIMITS]);
  expect(calls).toEqual([`container ${small}`, `pod ${small}`]);
});

it('a pod is not given less memory than it uses', async () => {
  const { node, use, held, change, condition, read } = await startPod(SMALL, { resources: whole('1', '60Mi') });
  await change({ resources: whole('1', '80Mi') });
  const size = 80 * MIB;
  const message = `cannot decrease memory limits: attempting to set pod memory limit (${size}) below current usage (${size})`;
  await soon(node, () => condition('PodResizeInProgress')).toMatchObject({ status: 'True', reason: 'Error', message });
  expect((await held())[0]).toEqual(SMALL_LIMITS);
  expect(read()?.status?.resources?.limits).toEqual(SMALL.limits);
  expect(node.events.filter((event) => event.startsWith('Warning ResizeError'))).toHaveLength(1);
  use.mib = 79;
  await node.clock.advance(2_000);
  await soon(node, async () => (await held())[0]?.memoryBytes).toBe(size);
  await soon(node, () => condition('PodResizeInProgress')).toBeUndefined();
});

it('a pod that was started without a group gets no pod-level limits, and is told so', async () => {
  const { node, held, change, condition, read } = await startPod(undefined, { resources: whole('1', '60Mi') });
  const before = await held();
  await change({ resources: SMALL });
  await soon(node, () => condition('PodResizePending')).toMatchObject({ status: 'True', reason: 'Infeasible' });
  expect(await held()).toEqual(before);
  expect(read()?.status?.resources).toEqual(whole('1', '60Mi'));
  expect(node.events.filter((event) => event.startsWith('Warning ResizeInfeasible'))).toHaveLength(1);
});

it('a container that restarts is where the sandbox of its pod is, whatever the pod says by then', async () => {
  const { node, uid, held, change, condition, read, state } = await startPod(undefined);
  await change({ resources: { requests: { cpu: '1' } } });
  node.hollow.exit((await state())?.containers[0]?.id ?? '', 1);
  await node.clock.advance(20_000);
  await soon(node, () => read()?.status?.containerStatuses?.[0]?.restartCount).toBe(1);
  expect(await node.hollow.podGroups.listPodGroups(OWNER)).toEqual([]);
  // A group that an engine has created for one container only does not hold the other containers.
  await node.hollow.podGroups.updatePodGroup({ owner: OWNER, uid }, {});
  await change({ resources: SMALL });
  await soon(node, () => condition('PodResizePending')).toMatchObject({ status: 'True', reason: 'Infeasible' });
  expect((await held())[0]).toBeUndefined();
});

it('a group goes with its pod', async () => {
  const { node, uid, read } = await startPod(SMALL);
  expect(await node.runtime.podGroups.listPodGroups(OWNER)).toEqual([uid]);
  const { metadata } = read() ?? pod();
  const key = { namespace: metadata.namespace ?? '', name: metadata.name ?? '' };
  await node.client.delete(PODS, key, { gracePeriodSeconds: 0 }, node.stop.signal);
  await soon(node, () => node.runtime.podGroups.listPodGroups(OWNER)).toEqual([]);
});

it('a group that cannot be removed holds up neither the end of its pod nor the events of the engine', async () => {
  let watches = 0;
  const wrap = (hollow: HollowRuntime): Runtime => {
    const removePodGroup = async () => {
      throw new Error('EROFS: read-only file system');
    };
    const { observer, ...others } = noted([], { removePodGroup })(hollow);
    const watch: typeof observer.watch = (cluster, signal) => {
      watches += 1;
      return observer.watch(cluster, signal);
    };
    return { ...others, observer: { ...observer, watch } };
  };
  const node = await startNode({ wrap });
  await node.hollow.podGroups.updatePodGroup({ owner: OWNER, uid: 'left' }, {});
  const manager = new PodManager(node.services, ownWorkers(node.services));
  void manager.run(node.stop.signal);
  const { metadata } = await node.put(pod({ resources: SMALL }));
  await soon(node, () => node.client.all(PODS)[0]?.status?.phase).toBe('Running');
  const key = { namespace: metadata.namespace ?? '', name: metadata.name ?? '' };
  await node.client.delete(PODS, key, { gracePeriodSeconds: 0 }, node.stop.signal);
  await soon(node, () => manager.isActive(metadata.uid ?? '')).toBe(false);
  await node.clock.advance(10_000);
  expect(watches).toBe(1);
});

it('a group that an agent has left without a pod is removed, and no other', async () => {
  const node = await startNode();
  const { uid = '' } = (await node.put(pod({ resources: SMALL }))).metadata;
  const other = { cluster: 'c', node: 'another' };
  for (const one of [
    { owner: OWNER, uid: 'left' },
    { owner: other, uid: 'theirs' },
  ]) {
    await node.hollow.podGroups.updatePodGroup(one, {});
  }
  void new PodManager(node.services, ownWorkers(node.services)).run(node.stop.signal);
  await soon(node, () => node.hollow.podGroups.listPodGroups(OWNER)).toEqual([uid]);
  expect(await node.hollow.podGroups.listPodGroups(other)).toEqual(['theirs']);
  await soon(node, () => node.client.all(PODS)[0]?.status?.phase).toBe('Running');
});
