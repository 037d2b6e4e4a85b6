import type { Readable } from 'node:stream';
import type Docker from 'dockerode';
import type { PodFilter, PodState, RuntimeEvent, RuntimeObserver } from '../runtime/observer.ts';
import { LABEL } from '../runtime/labels.ts';
import { podStates } from './container-state.ts';
import { getStream } from './dial.ts';
import { fromDocker } from './docker-error.ts';
import type { EngineCalls } from './engine-calls.ts';
import type { Inspections } from './inspections.ts';
import { isGrouped } from '../runtime/sandboxes.ts';
import type { ContainerIndex, KnownContainers } from './container-index.ts';
import type { PodGroups } from './pod-groups.ts';
import type { PodLinks } from './pod-links.ts';
import { readLines } from './lines.ts';

const WHAT: Readonly<Record<string, RuntimeEvent['what']>> = {
  start: 'started',
  die: 'ended',
  oom: 'outOfMemory',
  pause: 'paused',
  update: 'updated',
  destroy: 'removed',
};
/** Events that change the list of containers or an inspection, but that workers do not need. */
const SILENT = ['create', 'unpause', 'rename'];

/** The containers and events of a cluster. */
export class DockerObserver implements RuntimeObserver {
  readonly #calls: EngineCalls;
  readonly #inspections: Inspections;
  readonly #containers: ContainerIndex;
  readonly #links: PodLinks;
  readonly #groups: Pick<PodGroups, 'find'>;
  readonly #machineStart: string;
  /**
   * Containers in which the kernel killed a process because of its memory limit, from the engine's events. Engine 20.10 shows this in an
   * inspection only if it noticed the kill before the container's end, and the two come in any order.
   */
  readonly #outOfMemory = new Set<string>();

  constructor(
    calls: EngineCalls,
    { inspections, containers }: KnownContainers,
    links: PodLinks,
    groups: Pick<PodGroups, 'find'>,
    machineStart = '',
  ) {
    this.#machineStart = machineStart;
    this.#calls = calls;
    this.#groups = groups;
    this.#inspections = inspections;
    this.#containers = containers;
    this.#links = links;
  }

  async listPods(filter: PodFilter, signal: AbortSignal) {
    try {
      const known = this.#known(filter);
      if (known !== undefined) return await this.#states(known, signal);
      const { cluster, node, podUid } = filter;
      using list =
        node === undefined || podUid !== undefined ? undefined : this.#containers.beginList({ cluster, node });
      const listed = await this.#list(filter, signal);
      const states = await this.#states(listed, signal);
      // Not earlier: the caller may start to read events only after it has this result.
      list?.end(listed.map(({ Id: id, Labels: labels }) => ({ id, labels })));
      return states;
    } catch (error) {
      throw fromDocker(error, 'Runtime');
    }
  }

  /** The pods of listed containers, or of containers that are known from events. */
  async #states(
    containers: readonly (Pick<Docker.ContainerInfo, 'Id'> & Partial<Pick<Docker.ContainerInfo, 'State'>>)[],
    signal: AbortSignal,
  ): Promise<readonly PodState[]> {
    const found = await Promise.all(containers.map((container) => this.#inspections.inspect(container, signal)));
    const inspected = found.filter((container) => container !== undefined);
    const isConnected = await Promise.all(inspected.map((container) => this.#links.isConnected(container)));
    const states = podStates(inspected, {
      unconnected: new Set(inspected.filter((_, index) => isConnected[index] !== true)),
      outOfMemory: this.#outOfMemory,
      machineStart: this.#machineStart,
    });
    return await Promise.all(states.map((state) => this.#withGroup(state)));
  }

  /** The containers of a pod whose node was listed. This avoids a list, which costs the engine time for each container. */
  #known({ cluster, node, podUid }: PodFilter): readonly { readonly Id: string }[] | undefined {
    if (node === undefined || podUid === undefined) return undefined;
    return this.#containers.find({ cluster, node }, podUid)?.map((Id) => ({ Id }));
  }

  async #list({ cluster, node, podUid }: PodFilter, signal: AbortSignal): Promise<readonly Docker.ContainerInfo[]> {
    const label = [
      `${LABEL.cluster}=${cluster}`,
      ...(node === undefined ? [] : [`${LABEL.node}=${node}`]),
      ...(podUid === undefined ? [] : [`${LABEL.podUid}=${podUid}`]),
    ];
    return await this.#calls.read(signal, (docker, abortSignal) =>
      docker.listContainers({ all: true, filters: { label }, abortSignal }),
    );
  }

  /** Adds the pod's control group. The engine may have created a group for a single container, which does not apply to the others. */
  async #withGroup(state: PodState): Promise<PodState> {
    if (!isGrouped(state.sandboxes)) return state;
    const group = await this.#groups.find({ owner: state.owner, uid: state.identity.uid });
    return group === undefined ? state : { ...state, group };
  }

  async *watch(cluster: string, signal: AbortSignal): AsyncIterable<RuntimeEvent | 'connected'> {
    const stream = await this.#events(cluster, signal);
    using _ = this.#containers.follow();
    this.#inspections.forgetAll();
    this.#outOfMemory.clear();
    yield 'connected';
    try {
      for await (const line of readLines(stream)) {
        const event = JSON.parse(line) as {
          Action?: string;
          Actor?: { ID?: string; Attributes?: Record<string, string> };
        };
        const what = WHAT[event.Action ?? ''];
        const attributes = event.Actor?.Attributes ?? {};
        const id = event.Actor?.ID ?? '';
        // A container may run out of memory many times a second; only the first time matters.
        if (what === 'outOfMemory' && this.#outOfMemory.has(id)) continue;
        this.#inspections.forget(id);
        if (event.Action === 'create') this.#containers.came({ id, labels: attributes });
        if (what === 'removed') this.#containers.went({ id, labels: attributes });
        if (what === 'outOfMemory') this.#outOfMemory.add(id);
        if (what === 'removed') this.#outOfMemory.delete(id);
        if (what === undefined) continue;
        yield { node: attributes[LABEL.node] ?? '', podUid: attributes[LABEL.podUid] ?? '', what };
      }
    } catch (error) {
      throw signal.aborted ? signal.reason : fromDocker(error, 'Runtime');
    }
  }

  async #events(cluster: string, signal: AbortSignal): Promise<Readable> {
    try {
      const filters = {
        type: ['container'],
        event: [...Object.keys(WHAT), ...SILENT],
        label: [`${LABEL.cluster}=${cluster}`],
      };
      return await this.#calls.open(signal, (docker, abort) =>
        getStream(docker, { path: '/events', query: { filters }, abort }),
      );
    } catch (error) {
      throw fromDocker(error, 'Runtime');
    }
  }
}
