import { errorMessage } from '@gantry/base';
import type { Result } from '@gantry/controller-runtime';
import { equalJson, type KubeObject, type Resource } from '@gantry/objects';
import { inspect } from 'node:util';
import type { ReconcileContext } from './controller.ts';
import { withFinalizer } from './finalizer.ts';

/**
 * What an object of a declared controller stands for outside of the cluster, such as names in the DNS. `State` is JSON data: all that the object
 * has there, so that `write` can also take away what is no longer desired. Each function may be called again after a crash or an error.
 *
 * @example
 * ```ts
 * const names = (dns: Dns): Outside<Website, string[]> => ({
 *   finalizer: 'example.com/names',
 *   read: async ({ metadata }, signal) => await dns.namesOf(metadata.uid, signal),
 *   write: async (desired, { metadata }, signal) => await dns.setNames(metadata.uid, desired, signal),
 *   cleanUp: async ({ metadata }, signal) => await dns.setNames(metadata.uid, [], signal),
 * });
 * ```
 */
export interface Outside<T extends KubeObject, State> {
  /** A qualified name, such as `example.com/names`. It is added before anything is read or written, and removed after `cleanUp`. */
  readonly finalizer: string;
  /** What is there. Called before each decision. */
  readonly read: (object: T, signal: AbortSignal) => Promise<State>;
  /** Makes it what is desired. Called when that differs from what was read; then it is read and decided again. */
  readonly write: (desired: State, object: T, signal: AbortSignal) => Promise<void>;
  /** Removes all of it, for an object that is being deleted. */
  readonly cleanUp: (object: T, signal: AbortSignal) => Promise<void>;
}

/** Thrown when what is outside differs from what was written there; the message has both. */
export class OutsideError extends Error {
  override readonly name = 'OutsideError';
}

/** What of one object is outside, and what this process has written there. */
export interface OutsideMemory<State> {
  /** What was written last, and has not been read since. */
  written?: State;
}

/** One reconcile of an object that stands for something outside. */
export interface OutsideReconcile<T extends KubeObject, State> {
  readonly outside: Outside<T, State>;
  readonly resource: Resource<T>;
  readonly object: T;
  readonly memory: OutsideMemory<State>;
  readonly context: Pick<ReconcileContext, 'client' | 'events'>;
  /** Decides and writes what is in the cluster. */
  readonly decide: (state: State) => Promise<{ readonly desired: State | undefined; readonly result: Result }>;
}

/** Reads what is outside, decides, and writes what differs there after what is in the cluster. An error of `outside` is an Event about the object, too. */
export async function reconcileOutside<T extends KubeObject, State>(
  { outside, resource, object, memory, context, decide }: OutsideReconcile<T, State>,
  signal: AbortSignal,
): Promise<Result> {
  const { client, events } = context;
  const reported = async <R>(work: Promise<R>): Promise<R> => {
    try {
      return await work;
    } catch (error) {
      if (!signal.aborted) events.event(object, 'Warning', 'OutsideFailed', errorMessage(error).slice(0, MAX_MESSAGE));
      throw error;
    }
  };
  const apply = async (): Promise<Result> => {
    const state = await reported(outside.read(object, signal));
    const { desired, result } = await decide(state);
    if (desired === undefined || equalJson(state, desired)) {
      delete memory.written;
      return result;
    }
    const isRepeated = memory.written !== undefined && equalJson(memory.written, desired);
    await reported(outside.write(desired, object, signal));
    memory.written = desired;
    if (!isRepeated) return { requeueAfterMs: 0 };
    // With back-off: what is outside may need time to show what was written.
    throw new OutsideError(`outside: ${shown(desired)} was written before, but ${shown(state)} was read`);
  };
  const cleanUp = (): Promise<void> => reported(outside.cleanUp(object, signal));
  return await withFinalizer({ client, resource, object, finalizer: outside.finalizer, apply, cleanUp }, signal);
}

const MAX_MESSAGE = 400;

function shown(state: unknown): string {
  return inspect(state, { breakLength: Number.POSITIVE_INFINITY, depth: 4 }).slice(0, MAX_MESSAGE / 2);
}
