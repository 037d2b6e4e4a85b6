import { expect, it } from 'vitest';
import { type Random, seededRandom } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import type { Pod } from '@gantry/objects';
import { HollowRuntime } from '../hollow/hollow-runtime.ts';
import { container, ENGINE, pod } from '../testing/pods.ts';
import { podStatus } from '../status/pod-status.ts';
import { containerSpec } from '../spec/container-spec.ts';
import { identityOf } from '../spec/pod-names.ts';
import { emptyMemory, type PodMemory } from '../plan/pod-memory.ts';
import { computePodActions } from '../plan/plan.ts';
import type { PodAction, PodPlan } from '../plan/pod-plan.ts';

const OWNER = { cluster: 'c', node: 'n' };
const IMAGE = { id: 'sha256:1', sizeBytes: 1, digests: [], user: '', labels: [] };
const MEMORY: PodMemory = { ...emptyMemory, volumes: 'ready' };
const signal = new AbortController().signal;

/** A pod on a hollow runtime. Only its plans change it. */
class Simulation {
  readonly clock = new ManualClock(Date.parse('2026-01-01T00:00:00Z'));
  readonly runtime = new HollowRuntime({ clock: this.clock, images: { pause: IMAGE, 'nginx:1.27': IMAGE } });
  pod: Pod | undefined;
  released: 'no' | 'yes' = 'no';

  constructor(object: Pod) {
    this.pod = object;
  }

  async state() {
    return (await this.runtime.observer.listPods({ cluster: 'c', podUid: 'uid-1' }))[0];
  }

  async plan(): Promise<PodPlan> {
    const state = await this.state();
    const plan = computePodActions(this.pod, state, MEMORY, this.clock.now());
    if (this.pod !== undefined) {
      const node = { nodeAddress: '10.0.0.1', recursiveReadOnly: 'supported' } as const;
      const observed = { pod: this.pod, state, memory: MEMORY, plan, ...node, messages: new Map() };
      this.pod = { ...this.pod, status: podStatus(observed, this.clock.now()) };
    }
    return plan;
  }

  /** Carries out plans until one is empty. Fails if none gets empty. */
  async settle(): Promise<PodPlan> {
    for (let round = 0; round < 50; round++) {
      const plan = await this.plan();
      const actions = plan.actions.filter(({ kind }) => kind !== 'release');
      if (plan.actions.length > actions.length) this.released = 'yes';
      if (actions.length === 0) return plan;
      for (const action of actions) await this.apply(action);
    }
    throw new Error('the plan never became empty');
  }

  async apply(action: PodAction): Promise<void> {
    const { sandboxes, containers } = this.runtime;
    const object = this.pod;
    switch (action.kind) {
      case 'createSandbox':
        await sandboxes.createSandbox(
          {
            owner: OWNER,
            pod: { uid: 'uid-1', namespace: 'default', name: 'web' },
            attempt: action.attempt,
            image: 'pause',
            imageLabels: [],
            ipc: 'own',
            seccomp: 'own',
            hostname: 'web',
            network: { kind: 'pod', name: 'pods', address: '10.0.0.9', nameServer: 'network' },
            hostAliases: [],
            dns: { servers: [], searches: [], options: [] },
            sysctls: {},
            oomScoreAdj: 0,
            graceSeconds: 0,
          },
          signal,
        );
        return;
      case 'startContainer': {
        if (object === undefined) throw new Error('a container of no pod');
        const { sandboxId, attempt, restartDelayMs } = action;
        const spec = containerSpec({
          owner: OWNER,
          pod: object,
          container: action.container,
          attempt,
          sandboxId,
          group: 'engine',
          restartDelayMs,
          environment: new Map(),
          mounts: [],
          devices: [],
          image: IMAGE,
          engine: ENGINE,
          privilege: 'full',
          capacityBytes: 2 ** 30,
          processLimit: 1000,
        });
        expect(spec.pod).toEqual(identityOf(object));
        await containers.startContainer(await containers.createContainer(spec, signal), signal);
        return;
      }
      case 'stopContainer':
      case 'signalContainer':
        return containers.stopContainer(action.id, 0, signal);
      case 'updateContainer':
        return containers.updateContainer(action.id, action.resources);
      case 'updatePodGroup':
        return this.runtime.podGroups.updatePodGroup({ owner: OWNER, uid: 'uid-1' }, action.resources);
      case 'unpause':
        return this.runtime.pauses.unpause(action.id);
      case 'stopSandbox':
        return sandboxes.stopSandbox(action.id);
      case 'removeContainer':
        return containers.removeContainer(action.id);
      case 'removeSandbox':
        return sandboxes.removeSandbox(action.id);
      case 'mountVolumes':
      case 'release':
        return undefined;
    }
  }

  /** Changes the containers without the agent. */
  async disturb(random: Random): Promise<void> {
    const state = await this.state();
    const pick = <T>(list: readonly T[]): T | undefined => list[Math.floor(random() * list.length)];
    const one = pick(state?.containers ?? []);
    const box = pick(state?.sandboxes ?? []);
    switch (Math.floor(random() * 7)) {
      case 0:
        if (one !== undefined) this.runtime.exit(one.id, Math.floor(random() * 2));
        break;
      case 1:
        if (one !== undefined) await this.runtime.containers.removeContainer(one.id);
        break;
      case 2:
        if (box !== undefined) await this.runtime.sandboxes.stopSandbox(box.id);
        break;
      case 3:
        if (box !== undefined) await this.runtime.sandboxes.removeSandbox(box.id);
        break;
      case 4:
        for (const { id } of [one, box].filter((found) => found !== undefined)) this.runtime.pause(id);
        break;
      case 5: {
        const live = state?.sandboxes.find(({ state: run }) => run === 'running')?.id;
        const ended = state?.containers.filter((found) => found.state === 'exited' && found.sandboxId === live);
        const again = pick(ended ?? []);
        if (again !== undefined) await this.runtime.containers.startContainer(again.id, signal);
        break;
      }
      default:
        await this.clock.advance(random() * 60_000);
    }
  }
}

const seeds = Array.from({ length: 40 }, (_, seed) => seed);

it.each(seeds)('a pod whose containers are disturbed recovers, and is deleted completely (seed %i)', async (seed) => {
  const random = seededRandom(seed);
  const simulation = new Simulation(
    pod({
      initContainers: [container('setup'), container('side', { restartPolicy: 'Always' })],
      containers: [container('a'), container('b')],
    }),
  );
  simulation.runtime.behave({ exitAfter: (spec) => (spec.name === 'setup' ? { ms: 0, exitCode: 0 } : undefined) });
  const restarts = () => (simulation.pod?.status?.containerStatuses ?? []).map(({ restartCount }) => restartCount);
  let last = [0, 0];
  for (let round = 0; round < 12; round++) {
    await simulation.settle();
    await simulation.clock.advance(0);
    await simulation.disturb(random);
    await simulation.plan();
    expect(restarts().every((count, i) => count >= (last[i] ?? 0))).toBe(true);
    last = restarts();
  }
  // From any state, waiting is enough to recover.
  for (let round = 0; round < 6; round++) {
    const plan = await simulation.settle();
    await simulation.clock.advance(
      plan.requeueAt === undefined ? 0 : Math.max(0, plan.requeueAt - simulation.clock.now()),
    );
  }
  const plan = await simulation.settle();
  expect(plan.actions).toEqual([]);
  const state = await simulation.state();
  const alive = state?.containers.filter((one) => one.state === 'running').map(({ name }) => name);
  expect(alive?.sort()).toEqual(['a', 'b', 'side']);
  const parts = [...(state?.containers ?? []), ...(state?.sandboxes ?? [])];
  expect(parts.filter(({ activity }) => activity !== undefined)).toEqual([]);
  expect(state?.sandboxes.length).toBe(1);
  expect(simulation.pod?.status?.phase).toBe('Running');
  const counts = new Map<string, number>();
  for (const { name } of state?.containers ?? []) counts.set(name, (counts.get(name) ?? 0) + 1);
  expect(Math.max(...counts.values())).toBeLessThanOrEqual(2);

  simulation.pod = {
    ...(simulation.pod ?? pod()),
    metadata: { ...simulation.pod?.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
  };
  await simulation.settle();
  expect(await simulation.state()).toBeUndefined();
  expect(simulation.released).toBe('yes');
});
