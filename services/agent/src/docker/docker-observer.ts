import type { Readable } from 'node:stream';
import type Docker from 'dockerode';
import type { PodFilter, RuntimeEvent, RuntimeObserver } from '../runtime/observer.ts';
import { LABEL } from '../runtime/labels.ts';
import { podStates } from './container-state.ts';
import { getStream } from './dial.ts';
import { describeDockerError, fromDocker } from './docker-error.ts';
import type { EngineCalls } from './engine-calls.ts';
import { readLines } from './lines.ts';

const WHAT: Readonly<Record<string, RuntimeEvent['what']>> = { start: 'started', die: 'ended', destroy: 'removed' };

/** Containers and events of a cluster. Inspections of ended containers are cached: they cannot change. */
export class DockerObserver implements RuntimeObserver {
  readonly #calls: EngineCalls;
  readonly #ended = new Map<string, Docker.ContainerInspectInfo>();

  constructor(calls: EngineCalls) {
    this.#calls = calls;
  }

  async listPods(filter: PodFilter, signal: AbortSignal) {
    const labels = [
      `${LABEL.cluster}=${filter.cluster}`,
      ...(filter.node === undefined ? [] : [`${LABEL.node}=${filter.node}`]),
      ...(filter.podUid === undefined ? [] : [`${LABEL.podUid}=${filter.podUid}`]),
    ];
    try {
      const containers = await this.#calls.read(signal, (docker, abortSignal) =>
        docker.listContainers({ all: true, filters: { label: labels }, abortSignal }),
      );
      const inspected = await Promise.all(containers.map((container) => this.#inspect(container, signal)));
      return podStates(inspected.filter((container) => container !== undefined));
    } catch (error) {
      throw fromDocker(error, 'Runtime');
    }
  }

  async #inspect(
    container: Docker.ContainerInfo,
    signal: AbortSignal,
  ): Promise<Docker.ContainerInspectInfo | undefined> {
    if (container.State !== 'exited') this.#ended.delete(container.Id);
    const known = this.#ended.get(container.Id);
    if (known !== undefined) return known;
    try {
      const inspected = await this.#calls.read(signal, (docker, abortSignal) =>
        docker.getContainer(container.Id).inspect({ abortSignal }),
      );
      if (inspected.State.Status === 'exited') this.#ended.set(container.Id, inspected);
      return inspected;
    } catch (error) {
      if (describeDockerError(error).status === 404) return undefined;
      throw error;
    }
  }

  async *watch(cluster: string, signal: AbortSignal): AsyncIterable<RuntimeEvent | 'connected'> {
    const stream = await this.#events(cluster, signal);
    yield 'connected';
    try {
      for await (const line of readLines(stream)) {
        const event = JSON.parse(line) as {
          Action?: string;
          Actor?: { ID?: string; Attributes?: Record<string, string> };
        };
        const what = WHAT[event.Action ?? ''];
        const attributes = event.Actor?.Attributes ?? {};
        if (what === undefined) continue;
        if (what === 'removed') this.#ended.delete(event.Actor?.ID ?? '');
        yield { node: attributes[LABEL.node] ?? '', podUid: attributes[LABEL.podUid] ?? '', what };
      }
    } catch (error) {
      throw signal.aborted ? signal.reason : fromDocker(error, 'Runtime');
    }
  }

  async #events(cluster: string, signal: AbortSignal): Promise<Readable> {
    try {
      const filters = { type: ['container'], event: Object.keys(WHAT), label: [`${LABEL.cluster}=${cluster}`] };
      return await this.#calls.open(signal, (docker, abort) =>
        getStream(docker, { path: '/events', query: { filters }, abort }),
      );
    } catch (error) {
      throw fromDocker(error, 'Runtime');
    }
  }
}
