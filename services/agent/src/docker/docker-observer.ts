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
/** Changes of which containers there are, and of what an inspection shows, that no worker needs to hear of. */
const SILENT = ['create', 'unpause', 'rename'];

/** Containers and events of a cluster. */
export class DockerObserver implements RuntimeObserver {
  readonly #calls: EngineCalls;
  readonly #inspections: Inspections;
  readonly #containers: ContainerIndex;
  readonly #links: PodLinks;
  readonly #groups: Pick<PodGroups, 'find'>;
  /**
   * Containers in which the kernel killed a process for its memory, by the engine's events. Engine 20.10 shows it in an inspection only
   * if it heard of it before it heard of the container's end, and the two come in any order.
   */
  readonly #outOfMemory = new Set<string>();

  constructor(
    calls: EngineCalls,
    { inspections, containers }: KnownContainers,
    links: PodLinks,
    groups: Pick<PodGroups, 'find'>,
  ) {
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
      // Not before: until a caller has this answer, it may read no events.
      list?.end(listed.map(({ Id: id, Labels: labels }) => ({ id, labels })));
      return states;
    } catch (error) {
      throw fromDocker(error, 'Runtime');
    }
  }

  /** What containers are in, as they were listed, or as events alone say. */
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
    });
    return await Promise.all(states.map((state) => this.#withGroup(state)));
  }

  /** The containers of a pod whose node was listed: a list costs the engine time for each that it has. */
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

  /** The pod with its control group. The engine may have made one for a single container: that does not hold the others. */
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
        // A container may run out of memory many times a second; each further time changes nothing.
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
