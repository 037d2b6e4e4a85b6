import { type Clock, type Instant, Signal, sleep } from '@gantry/base';
import { AgentError } from '../runtime/agent-error.ts';
import type { ContainerSpec, ContainerState, ExecResult } from '../runtime/containers.ts';
import type { EngineInfo } from '../runtime/engine.ts';
import type { LogOptions } from '../runtime/logs.ts';
import type { GroupedPod, ResourceLimits } from '../runtime/pod-groups.ts';
import type { Owner } from '../runtime/labels.ts';
import type { PodFilter, PodState, RuntimeEvent } from '../runtime/observer.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { hollowImageFiles } from './hollow-image-files.ts';
import { isGrouped, type SandboxSpec, type SandboxState } from '../runtime/sandboxes.ts';
import type { ContainerStats, ContainerStorage, DeviceIo, InterfaceStats } from '../runtime/stats.ts';
import { type HollowImageBehaviour, HollowImages, type KnownImages } from './hollow-images.ts';
import { markMounted } from './hollow-mounts.ts';
import { type HollowStreamBehaviour, HollowStreams } from './hollow-streams.ts';
import type { ImageVolumeSpec } from '../runtime/images.ts';

/** Durations and the behaviour of containers. They may be changed while the runtime is in use. */
export interface HollowBehaviour extends HollowStreamBehaviour, HollowImageBehaviour {
  readonly createMs: number;
  readonly startMs: number;
  /** The time from the stop signal to the end of a container. If it is longer than the grace period, the container is killed. */
  readonly stopMs: number;
  /** Undefined: a container runs until it is stopped. */
  readonly exitAfter?: (spec: ContainerSpec) => { readonly ms: number; readonly exitCode: number } | undefined;
  readonly output?: (spec: ContainerSpec) => string;
  /** The number of bytes in a container's writable layer; absent: 0. */
  readonly writtenBytes?: (spec: ContainerSpec) => number;
  /** The host's folder of that layer; absent: unknown. */
  readonly layerFolder?: (spec: ContainerSpec) => string;
  /** The texts of an image's files by path; absent: none. */
  readonly imageFiles?: (imageId: string) => Readonly<Record<string, string>>;
  /** The constant usage of a running container; absent: none. */
  readonly usage?: (spec: ContainerSpec) => { readonly cpuMillis: number; readonly memoryBytes: number };
}

/** The initial images and behaviour of a hollow runtime. */
export interface HollowOptions extends KnownImages {
  readonly clock: Clock;
  readonly behaviour?: Partial<HollowBehaviour>;
  readonly engine?: Partial<EngineInfo>;
}

interface HollowSandbox {
  readonly spec: SandboxSpec;
  state: SandboxState;
}

interface HollowContainer {
  readonly spec: ContainerSpec;
  state: ContainerState;
  cancelExit: () => void;
  /** Aborted when the container ends. */
  ended: AbortController;
}

const IMMEDIATE: HollowBehaviour = { createMs: 0, startMs: 0, pullMs: 0, stopMs: 0 };

/** A container runtime in memory with configurable timings, which fulfils the same contract as a real one. It can simulate many nodes. */
export class HollowRuntime implements Runtime {
  readonly #options: HollowOptions;
  readonly #sandboxes = new Map<string, HollowSandbox>();
  readonly #containers = new Map<string, HollowContainer>();
  /** Pod groups by node and pod uid. */
  readonly #groups = new Map<string, ResourceLimits>();
  /** Image holds by id. */
  readonly #imageHolds = new Map<string, ImageVolumeSpec>();
  readonly #watchers = new Set<(event: RuntimeEvent) => void>();
  #behaviour: HollowBehaviour;
  #nextId = 1;

  constructor(options: HollowOptions) {
    this.#options = options;
    this.#behaviour = { ...IMMEDIATE, ...options.behaviour };
    this.images = new HollowImages({
      ...options,
      behaviour: () => this.#behaviour,
      inUse: () => [
        ...[...this.#sandboxes.values(), ...this.#containers.values()].map(({ spec }) => spec.image),
        ...[...this.#imageHolds.values()].map(({ image }) => image.id),
      ],
    });
  }

  behave(change: Partial<HollowBehaviour>): void {
    this.#behaviour = { ...this.#behaviour, ...change };
  }

  /** Ends a running container as if its process ended. */
  exit(id: string, exitCode: number, endedBy?: 'oom'): void {
    const container = this.#containers.get(id);
    if (container?.state.state !== 'running') return;
    container.cancelExit();
    container.ended.abort();
    const finishedAt = this.#options.clock.now();
    container.state = {
      ...withoutActivity(container.state),
      state: 'exited',
      exitCode,
      finishedAt,
      ...(endedBy === undefined ? {} : { endedBy }),
    };
    if (endedBy !== undefined) this.#emit(container.spec, 'outOfMemory');
    this.#emit(container.spec, 'ended');
  }

  /** Freezes a running container or sandbox, as something outside of the agent could. */
  pause(id: string): void {
    this.#setActivity(id, { activity: 'paused' });
    const paused = this.#containers.get(id) ?? this.#sandboxes.get(id);
    if (paused?.state.activity === 'paused') this.#emit(paused.spec, 'paused');
  }

  readonly pauses = {
    unpause: async (id: string): Promise<void> => this.#setActivity(id, {}),
  };

  readonly sandboxes = {
    createSandbox: async (spec: SandboxSpec, signal: AbortSignal, created?: (id: string) => void): Promise<string> => {
      await this.#wait(this.#behaviour.createMs, signal);
      const all = [...this.#sandboxes.values()];
      if (all.some((other) => other.spec.pod.uid === spec.pod.uid && other.spec.attempt === spec.attempt)) {
        throw new AgentError('Conflict', `sandbox ${spec.attempt} of pod ${spec.pod.uid} exists`);
      }
      const address = spec.network.kind === 'pod' ? spec.network.address : '';
      this.#checkFree(address);
      if (spec.resources !== undefined) this.#groups.set(groupKey({ ...spec, uid: spec.pod.uid }), spec.resources);
      const id = this.#id();
      const createdAt = this.#options.clock.now();
      const sandbox: HollowSandbox = {
        spec,
        state: {
          id,
          attempt: spec.attempt,
          state: 'created',
          group: spec.resources === undefined ? 'engine' : 'pod',
          createdAt,
          address: '',
        },
      };
      this.#sandboxes.set(id, sandbox);
      try {
        created?.(id);
        await this.#wait(this.#behaviour.startMs, signal);
        this.#checkFree(address);
      } catch (error) {
        this.#sandboxes.delete(id);
        throw error;
      }
      if (!this.#sandboxes.has(id)) throw new AgentError('Runtime', `No such container: ${id}`);
      sandbox.state = { ...sandbox.state, state: 'running', address };
      this.#emit(spec, 'started');
      return id;
    },
    stopSandbox: async (id: string): Promise<void> => {
      const sandbox = this.#sandboxes.get(id);
      if (sandbox?.state.state !== 'running') return;
      const finishedAt = this.#options.clock.now();
      sandbox.state = { ...withoutActivity(sandbox.state), state: 'exited', finishedAt, address: '' };
      this.#emit(sandbox.spec, 'ended');
    },
    removeSandbox: async (id: string): Promise<void> => {
      const sandbox = this.#sandboxes.get(id);
      if (this.#sandboxes.delete(id) && sandbox !== undefined) this.#emit(sandbox.spec, 'removed');
    },
  };

  readonly podGroups = {
    updatePodGroup: async (pod: GroupedPod, limits: ResourceLimits): Promise<void> =>
      void this.#groups.set(groupKey(pod), limits),
    readPodMemory: async (pod: GroupedPod): Promise<number | undefined> => {
      if (!this.#groups.has(groupKey(pod))) return undefined;
      const inside = [...this.#containers.values()].filter(({ spec }) => spec.pod.uid === pod.uid);
      const used = [...this.#measure(inside.map(({ state }) => state.id)).values()];
      return used.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0);
    },
    removePodGroup: async (pod: GroupedPod): Promise<boolean> => {
      const all = [...this.#sandboxes.values(), ...this.#containers.values()];
      const isUsed = all.some(({ spec, state }) => spec.pod.uid === pod.uid && state.state === 'running');
      if (!isUsed) this.#groups.delete(groupKey(pod));
      return !isUsed;
    },
    listPodGroups: async (owner: Owner): Promise<readonly string[]> => {
      const prefix = groupKey({ owner, uid: '' });
      return [...this.#groups.keys()].flatMap((key) => (key.startsWith(prefix) ? [key.slice(prefix.length)] : []));
    },
  };

  readonly containers = {
    createContainer: async (spec: ContainerSpec, signal: AbortSignal): Promise<string> => {
      await this.#wait(this.#behaviour.createMs, signal);
      const same = (other: HollowContainer) =>
        other.spec.pod.uid === spec.pod.uid && other.spec.name === spec.name && other.spec.attempt === spec.attempt;
      if ([...this.#containers.values()].some(same)) {
        throw new AgentError('Conflict', `container ${spec.name} ${spec.attempt} of pod ${spec.pod.uid} exists`);
      }
      const image = this.images.find(spec.image);
      if (image === undefined) throw new AgentError('ImageNotFound', `No such image: ${spec.image}`);
      // Like the engine, create the parent of a container's group if it is missing.
      const group = groupKey({ ...spec, uid: spec.pod.uid });
      if (spec.group === 'pod' && !this.#groups.has(group)) this.#groups.set(group, {});
      const id = this.#id();
      this.#containers.set(id, {
        spec,
        state: initialState(id, spec, image.id, this.#options.clock.now()),
        cancelExit: () => undefined,
        ended: new AbortController(),
      });
      return id;
    },
    startContainer: async (id: string, signal: AbortSignal): Promise<void> => {
      await this.#wait(this.#behaviour.startMs, signal);
      const container = this.#containers.get(id);
      const sandbox = this.#sandboxes.get(container?.spec.sandboxId ?? '');
      if (container === undefined) throw new AgentError('RunContainerError', `No such container: ${id}`);
      const { processes } = container.spec;
      const target = typeof processes === 'object' ? this.#containers.get(processes.containerId) : sandbox;
      if (sandbox?.state.state !== 'running' || target?.state.state !== 'running') {
        const error = 'cannot join a namespace of a non running container';
        const at = this.#options.clock.now();
        container.state = { ...container.state, state: 'exited', exitCode: 128, finishedAt: at, error };
        throw new AgentError('RunContainerError', error);
      }
      container.state = { ...container.state, state: 'running', startedAt: this.#options.clock.now() };
      this.#emit(container.spec, 'started');
      const exit = this.#behaviour.exitAfter?.(container.spec);
      if (exit !== undefined) {
        container.cancelExit = this.#options.clock.setTimer(exit.ms, () => this.exit(id, exit.exitCode));
      }
    },
    stopContainer: async (id: string, graceSeconds: number, signal: AbortSignal): Promise<void> => {
      if (this.#containers.get(id)?.state.state !== 'running') return;
      const graceMs = graceSeconds * 1000;
      await this.#wait(Math.min(this.#behaviour.stopMs, graceMs), signal);
      this.exit(id, this.#behaviour.stopMs > graceMs ? 137 : 0);
    },
    updateContainer: async (id: string, resources: ResourceLimits): Promise<void> => {
      const container = this.#containers.get(id);
      if (container === undefined) throw new AgentError('NotFound', `No such container: ${id}`);
      container.state = { ...container.state, resources };
      this.#emit(container.spec, 'updated');
    },
    removeContainer: async (id: string): Promise<void> => {
      const hold = this.#imageHolds.get(id);
      if (this.#imageHolds.delete(id) && hold !== undefined) this.#emit(hold, 'removed');
      const container = this.#containers.get(id);
      if (container === undefined) return;
      this.exit(id, 137);
      this.#containers.delete(id);
      this.#emit(container.spec, 'removed');
    },
    exec: async (id: string, command: readonly string[]): Promise<ExecResult> => {
      const container = this.#containers.get(id);
      if (container?.state.state !== 'running') throw new AgentError('Runtime', `container ${id} is not running`);
      return this.#behaviour.exec?.(container.spec, command) ?? { exitCode: 0, output: '' };
    },
  };

  readonly images: HollowImages;

  readonly imageVolumes = {
    mountImage: async (spec: ImageVolumeSpec, signal: AbortSignal): Promise<void> => {
      await this.#wait(this.#behaviour.createMs, signal);
      if (this.images.find(spec.image.id) === undefined) {
        throw new AgentError('ImageNotFound', `No such image: ${spec.image.id}`);
      }
      const isSame = ({ pod, volume }: ImageVolumeSpec) => pod.uid === spec.pod.uid && volume === spec.volume;
      const [known = this.#id()] = [...this.#imageHolds].find(([, hold]) => isSame(hold)) ?? [];
      this.#imageHolds.set(known, spec);
      await markMounted(spec.hostFolder);
    },
  };

  readonly imageFiles = hollowImageFiles({
    filesOf: (imageId) =>
      this.images.find(imageId) === undefined ? undefined : (this.#behaviour.imageFiles?.(imageId) ?? {}),
    wait: (signal) => this.#wait(this.#behaviour.createMs, signal),
  });

  readonly observer = {
    listPods: async (filter: PodFilter): Promise<readonly PodState[]> => this.#list(filter),
    watch: (cluster: string, signal: AbortSignal) => this.#watch(cluster, signal),
  };

  readonly logs = {
    readLogs: (id: string, options: LogOptions, _signal: AbortSignal) => this.#read(id, options),
  };

  readonly stats = {
    findFolders: (ids: readonly string[]): Promise<ReadonlyMap<string, ContainerStorage>> =>
      this.stats.readStorage(ids),
    readStorage: async (ids: readonly string[]): Promise<ReadonlyMap<string, ContainerStorage>> => {
      const { writtenBytes = () => 0, layerFolder = () => undefined } = this.#behaviour;
      const existing = ids.flatMap((id) => this.#containers.get(id) ?? []);
      return new Map(
        existing.map(({ spec, state }) => [
          state.id,
          { writableBytes: writtenBytes(spec), layerFolder: layerFolder(spec), logFolder: undefined },
        ]),
      );
    },
    // Pods have no networks.
    readNetworks: async (): Promise<ReadonlyMap<string, readonly InterfaceStats[]>> => new Map(),
    // Containers read and write nothing.
    readDeviceIo: async (): Promise<ReadonlyMap<string, readonly DeviceIo[]>> => new Map(),
    readStats: async (ids: readonly string[]): Promise<ReadonlyMap<string, ContainerStats>> => this.#measure(ids),
  };

  readonly streams = new HollowStreams({
    behaviour: () => this.#behaviour,
    container: (id) => {
      const found = this.#containers.get(id);
      return found?.state.state === 'running' ? { spec: found.spec, ended: found.ended.signal } : undefined;
    },
    sandbox: (id) => {
      const found = this.#sandboxes.get(id);
      return found?.state.state === 'running' ? found.spec : undefined;
    },
  });

  readonly engine = {
    info: async (): Promise<EngineInfo> => ({
      id: 'hollow-engine',
      name: 'hollow',
      version: '0.0.0',
      cpus: 8,
      memoryBytes: 16 * 2 ** 30,
      kernel: 'hollow',
      os: 'hollow',
      architecture: 'x86_64',
      appArmor: 'enabled',
      recursiveReadOnly: 'supported',
      seccomp: 'default-profile',
      podGroups: 'supported',
      runtimes: ['runc'],
      ...this.#options.engine,
    }),
    ping: async (): Promise<void> => undefined,
    probe: async (): Promise<'full'> => 'full',
  };

  #setActivity(id: string, activity: Pick<ContainerState, 'activity'>): void {
    const [container, sandbox] = [this.#containers.get(id), this.#sandboxes.get(id)];
    if (container?.state.state === 'running') container.state = { ...withoutActivity(container.state), ...activity };
    if (sandbox?.state.state === 'running') sandbox.state = { ...withoutActivity(sandbox.state), ...activity };
  }

  #checkFree(address: string): void {
    const isTaken = [...this.#sandboxes.values()].some(
      ({ state }) => state.state === 'running' && state.address === address,
    );
    if (address !== '' && isTaken) throw new AgentError('AddressInUse', `address ${address} already in use`);
  }

  async #wait(ms: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (ms > 0) await sleep(this.#options.clock, ms, signal);
  }

  #id(): string {
    return (this.#nextId++).toString(16).padStart(64, '0');
  }

  #emit({ owner, pod }: Pick<SandboxSpec, 'owner' | 'pod'>, what: RuntimeEvent['what']): void {
    for (const watcher of this.#watchers) watcher({ node: owner.node, podUid: pod.uid, what });
  }

  #measure(ids: readonly string[]): ReadonlyMap<string, ContainerStats> {
    const at = this.#options.clock.now();
    return new Map(
      ids.flatMap((id) => {
        const { spec, state } = this.#containers.get(id) ?? {};
        if (spec === undefined || state?.state !== 'running') return [];
        const { cpuMillis, memoryBytes } = this.#behaviour.usage?.(spec) ?? { cpuMillis: 0, memoryBytes: 0 };
        // One millicore takes 1000 ns of CPU time per millisecond.
        const cpuNanos = cpuMillis * 1000 * (at - (state.startedAt ?? at));
        return [[id, { at, cpuNanos, memoryBytes, memoryUsageBytes: memoryBytes, processes: 1 }] as const];
      }),
    );
  }

  #list({ cluster, node, podUid }: PodFilter): readonly PodState[] {
    type Owned = Pick<SandboxSpec, 'owner' | 'pod' | 'graceSeconds' | 'instances'>;
    const matches = ({ owner, pod }: Owned) =>
      owner.cluster === cluster &&
      (node === undefined || owner.node === node) &&
      (podUid === undefined || pod.uid === podUid);
    const sandboxes = [...this.#sandboxes.values()].filter(({ spec }) => matches(spec));
    const containers = [...this.#containers.values()].filter(({ spec }) => matches(spec));
    const holds = [...this.#imageHolds].map(([id, spec]) => ({ id, spec })).filter(({ spec }) => matches(spec));
    const all: readonly { readonly spec: Owned }[] = [...holds, ...sandboxes, ...containers];
    const pods = new Map(all.map(({ spec }) => [`${spec.owner.node}/${spec.pod.uid}`, spec]));
    return [...pods.values()].map((spec) => {
      const same = (other: { spec: Owned }) =>
        other.spec.pod.uid === spec.pod.uid && other.spec.owner.node === spec.owner.node;
      const own = sandboxes.filter(same).map(({ state }) => state);
      return {
        owner: spec.owner,
        identity: spec.pod,
        graceSeconds: spec.graceSeconds,
        ...(spec.instances === 'at-most-one' ? { instances: spec.instances } : {}),
        sandboxes: own.sort((a, b) => b.attempt - a.attempt),
        containers: containers
          .filter(same)
          .map(({ state }) => state)
          .sort((a, b) => b.attempt - a.attempt),
        imageHolds: holds.filter(same).map(({ id }) => id),
        ...(isGrouped(own) ? this.#groupOf(spec) : {}),
      };
    });
  }

  #groupOf({ owner, pod }: Pick<SandboxSpec, 'owner' | 'pod'>): Pick<PodState, 'group'> {
    const limits = this.#groups.get(groupKey({ owner, uid: pod.uid }));
    return limits === undefined ? {} : { group: { limits, precision: { cpuShares: 1, memoryBytes: 1 } } };
  }

  async *#watch(_cluster: string, signal: AbortSignal): AsyncIterable<RuntimeEvent | 'connected'> {
    const queue: RuntimeEvent[] = [];
    const arrival = new Signal();
    const watcher = (event: RuntimeEvent) => {
      queue.push(event);
      arrival.notify();
    };
    this.#watchers.add(watcher);
    try {
      yield 'connected';
      for (;;) {
        signal.throwIfAborted();
        const event = queue.shift();
        if (event !== undefined) yield event;
        else await arrival.wait(this.#options.clock, Infinity, signal);
      }
    } finally {
      this.#watchers.delete(watcher);
    }
  }

  async *#read(id: string, { tailLines }: LogOptions): AsyncIterable<Uint8Array> {
    const container = this.#containers.get(id);
    if (container === undefined) throw new AgentError('NotFound', `No such container: ${id}`);
    const lines = (this.#behaviour.output?.(container.spec) ?? '').split(/(?<=\n)/);
    const shown = tailLines === undefined ? lines : lines.slice(Math.max(0, lines.length - tailLines));
    for (const line of shown) if (line !== '') yield Buffer.from(line);
  }
}

function initialState(id: string, spec: ContainerSpec, imageId: string, now: Instant): ContainerState {
  return {
    id,
    name: spec.name,
    attempt: spec.attempt,
    sandboxId: spec.sandboxId,
    hash: spec.hash,
    image: spec.image,
    imageId,
    state: 'created',
    createdAt: now,
    restartDelayMs: spec.restartDelayMs,
    resources: spec.resources,
    terminationMessagePath: spec.terminationMessagePath,
    processUser: spec.security.processUser,
  };
}

function withoutActivity<T extends Pick<ContainerState, 'activity'>>({
  activity: _,
  ...state
}: T): Omit<T, 'activity'> {
  return state;
}

function groupKey({ owner: { cluster, node }, uid }: GroupedPod): string {
  return `${cluster}/${node}/${uid}`;
}
