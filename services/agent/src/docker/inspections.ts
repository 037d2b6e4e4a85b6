import type Docker from 'dockerode';
import { describeDockerError } from './docker-error.ts';
import type { EngineCalls } from './engine-calls.ts';

/** States that a container leaves only with an event. A created container may still fail to start without one. */
const KEPT = new Set(['running', 'paused', 'exited']);

/**
 * Caches the engine's inspections of containers, one per state of a container. The engine's lists contain the state, and events show
 * which container has changed: call `forget` for every event, and for every change without an event.
 */
export class Inspections {
  readonly #calls: EngineCalls;
  readonly #known = new Map<string, Docker.ContainerInspectInfo>();
  readonly #asking = new Map<string, symbol>();

  constructor(calls: EngineCalls) {
    this.#calls = calls;
  }

  /**
   * Undefined when the container does not exist any more. `State` is the state in the engine's list; without it, the cached inspection
   * counts until the next event.
   */
  async inspect(
    { Id: id, State: state }: Pick<Docker.ContainerInfo, 'Id'> & Partial<Pick<Docker.ContainerInfo, 'State'>>,
    signal: AbortSignal,
  ): Promise<Docker.ContainerInspectInfo | undefined> {
    const known = this.#known.get(id);
    if (known !== undefined && (state === undefined || known.State.Status === state)) return known;
    const question = Symbol(id);
    this.#asking.set(id, question);
    try {
      const found = await this.#calls.read(signal, (docker, abortSignal) =>
        docker.getContainer(id).inspect({ abortSignal }),
      );
      // A `forget` in between means that the result may be outdated.
      if (this.#asking.get(id) === question && KEPT.has(found.State.Status)) this.#known.set(id, found);
      return found;
    } catch (error) {
      if (describeDockerError(error).status === 404) return undefined;
      throw error;
    } finally {
      if (this.#asking.get(id) === question) this.#asking.delete(id);
    }
  }

  /** Runs a change of a container and then forgets it, because the event may arrive after the next inspection. */
  async changing<T>(id: string, change: () => Promise<T>): Promise<T> {
    try {
      return await change();
    } finally {
      this.forget(id);
    }
  }

  /** Call it when the container has changed or is gone. */
  forget(id: string): void {
    this.#known.delete(id);
    this.#asking.delete(id);
  }

  /** Call it when events may have been missed. */
  forgetAll(): void {
    this.#known.clear();
    this.#asking.clear();
  }
}
