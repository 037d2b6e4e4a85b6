import type Docker from 'dockerode';
import { describeDockerError } from './docker-error.ts';
import type { EngineCalls } from './engine-calls.ts';

/** States in which a container stays until the engine emits an event. One that was only created may yet fail to start. */
const KEPT = new Set(['running', 'paused', 'exited']);

/**
 * What the engine says of its containers, asked once for each state that a container is in. A list of the engine says the state, and
 * events which container is to be asked again: `forget` must hear of every event, and of every change that makes none.
 */
export class Inspections {
  readonly #calls: EngineCalls;
  readonly #known = new Map<string, Docker.ContainerInspectInfo>();
  readonly #asking = new Map<string, symbol>();

  constructor(calls: EngineCalls) {
    this.#calls = calls;
  }

  /** Undefined when the container does not exist any more. `State` as the engine has listed it; absent: events alone say what is known. */
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
      // After a `forget` in between, this may be what was before the change.
      if (this.#asking.get(id) === question && KEPT.has(found.State.Status)) this.#known.set(id, found);
      return found;
    } catch (error) {
      if (describeDockerError(error).status === 404) return undefined;
      throw error;
    } finally {
      if (this.#asking.get(id) === question) this.#asking.delete(id);
    }
  }

  /** Carries out a change of a container, whose event may come later than the next look. */
  async changing<T>(id: string, change: () => Promise<T>): Promise<T> {
    try {
      return await change();
    } finally {
      this.forget(id);
    }
  }

  /** The container has changed or is gone. */
  forget(id: string): void {
    this.#known.delete(id);
    this.#asking.delete(id);
  }

  /** Events may have been missed. */
  forgetAll(): void {
    this.#known.clear();
    this.#asking.clear();
  }
}
