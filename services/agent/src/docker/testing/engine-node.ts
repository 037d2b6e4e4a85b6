import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, systemClock } from '@gantry/base';
import type { ObjectClient } from '@gantry/client';
import { FakeObjectClient } from '@gantry/client/testing';
import { type Container, type Pod, PODS, type PodSpec } from '@gantry/objects';
import { expect } from 'vitest';
import { linuxMounts } from '../../mounts/linux-mounts.ts';
import { ownWorkers, PodManager } from '../../pods/pod-manager.ts';
import type { NodePressure } from '../../spec/node-pressure.ts';
import { type AssembledNode, assembleNode } from '../../testing/assemble-node.ts';
import { container, nodeOf, pod } from '../../testing/pods.ts';
import type { RuntimeEvent, RuntimeObserver } from '../../runtime/observer.ts';
import { connectDocker } from '../docker-runtime.ts';
import type { OwnEngine } from './own-engine.ts';
import { RESTART_DELAY_ANNOTATION } from '../../spec/restart-policy.ts';

export const PAUSE = 'registry.k8s.io/pause:3.10';
export const BUSYBOX = 'busybox:1.36';
const PATIENCE_MS = 60_000;
const OWNER = { cluster: 'own-engine', node: 'n' };

/** The machine's clock, but timers of a minute or longer never fire. A slow relist would hide that an event was missed. */
const CLOCK: Clock = {
  now: () => systemClock.now(),
  monotonicMs: () => systemClock.monotonicMs(),
  setTimer: (delayMs, fire) => (delayMs >= 60_000 ? () => undefined : systemClock.setTimer(delayMs, fire)),
};

/** A node on the test's own engine. The agent's manager of pods runs its pods. Dispose it before the engine. */
export interface EngineNode extends AssembledNode, AsyncDisposable {
  /** Returns the pod in the API. */
  readonly find: (name: string) => Pod | undefined;
  /** Waits until a pod in the API meets the condition. */
  readonly until: (name: string, isSo: (pod: Pod) => boolean) => Promise<Pod>;
  /** Returns `NAME ATTEMPT STATE` of each container of a pod in the engine, including sandboxes. */
  readonly containers: (name: string) => Promise<readonly string[]>;
}

export interface EngineNodeOptions {
  /** The agent's clock. Deadlines of requests to the engine use the machine's clock. */
  readonly clock?: Clock;
  readonly wrapClient?: (client: FakeObjectClient) => ObjectClient;
  readonly pressures?: () => readonly NodePressure[];
  /** Whether the agent misses an event although its stream of events works. */
  readonly loses?: (event: RuntimeEvent) => boolean;
}

export async function startEngineNode(engine: OwnEngine, options: EngineNodeOptions = {}): Promise<EngineNode> {
  const { clock = CLOCK, wrapClient = (client) => client, pressures = () => [], loses = () => false } = options;
  const privilege = 'no-sys-resource';
  const docker = connectDocker(
    engine.socket,
    () => privilege,
    systemClock,
    () => undefined,
  );
  const runtime = { ...docker, observer: losing(docker.observer, loses) };
  const api = new FakeObjectClient(clock);
  const path = join(engine.folder, 'state');
  await mkdir(path);
  const node = assembleNode({
    owner: OWNER,
    clock,
    api,
    client: wrapClient(api),
    runtime,
    observer: runtime.observer,
    mounts: linuxMounts(),
    path,
    root: '/',
    node: () => nodeOf(OWNER.node),
    engine: await runtime.engine.info(new AbortController().signal),
    privilege,
    sandboxImage: PAUSE,
    podNetwork: 'none',
    podCidr: '10.1.0.0/24',
    parallelCalls: 2,
    pressures,
  });
  await node.volumes.prepare();
  const managing = new PodManager(node.services, ownWorkers(node.services)).run(node.stop.signal);
  const find = (name: string) => api.all(PODS).find(({ metadata }) => metadata.name === name);
  return {
    ...node,
    find,
    until: async (name, isSo) => {
      const look = () => {
        const found = find(name);
        return found !== undefined && isSo(found) ? 'so' : found?.status;
      };
      await expect.poll(look, { timeout: PATIENCE_MS, interval: 50 }).toBe('so');
      return find(name) as Pod;
    },
    containers: async (name) => {
      const states = await runtime.observer.listPods(OWNER, new AbortController().signal);
      const state = states.find(({ identity }) => identity.name === name);
      const sandboxes = (state?.sandboxes ?? []).map((sandbox) => `sandbox ${sandbox.attempt} ${sandbox.state}`);
      const containers = (state?.containers ?? []).map((one) => `${one.name} ${one.attempt} ${one.state}`);
      return [...sandboxes, ...containers].toSorted();
    },
    [Symbol.asyncDispose]: async () => {
      node.stop.abort();
      await managing;
      await node.end();
    },
  };
}

function losing(observer: RuntimeObserver, loses: (event: RuntimeEvent) => boolean): RuntimeObserver {
  return {
    listPods: (filter, signal) => observer.listPods(filter, signal),
    watch: async function* (cluster, signal) {
      for await (const event of observer.watch(cluster, signal)) {
        if (event === 'connected' || !loses(event)) yield event;
      }
    },
  };
}

/** Returns a pod in its host's network with one container. The container runs a script, and is restarted without much delay. */
export function scriptPod(
  name: string,
  script: string,
  spec: Partial<PodSpec> = {},
  change: Partial<Container> = {},
): Pod {
  const main = container('main', { image: BUSYBOX, command: ['sh', '-c', script], ...change });
  const common = { hostNetwork: true, terminationGracePeriodSeconds: 1 };
  const annotations = { [RESTART_DELAY_ANNOTATION]: '1' };
  return pod({ ...common, ...spec, containers: [main] }, {}, { name, annotations });
}

/** Returns whether all containers of a pod run after this number of restarts. */
export function runsAfter(restarts: number): (pod: Pod) => boolean {
  return ({ status }) =>
    status?.phase === 'Running' &&
    (status.containerStatuses ?? []).every(({ ready, restartCount }) => ready && restartCount === restarts);
}
