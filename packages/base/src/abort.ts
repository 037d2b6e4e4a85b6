import { once } from 'node:events';
import { type Clock, pause } from './clock.ts';

/** The abort reason of a signal whose deadline has passed. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
}

/**
 * Calls `listener` once when the signal is aborted, or at once if it is aborted already. Dispose of the result to remove the listener: the
 * signal may live longer than the work.
 */
export function onAbort(signal: AbortSignal, listener: () => void): Disposable {
  if (signal.aborted) listener();
  else signal.addEventListener('abort', listener, { once: true });
  return { [Symbol.dispose]: () => signal.removeEventListener('abort', listener) };
}

/** A signal that is aborted with `parent`, or with `DeadlineError` after `ms`. Dispose of it when the work is done. */
export function withDeadline(clock: Clock, parent: AbortSignal, ms: number): AbortSignal & Disposable {
  const controller = new AbortController();
  const cancel = clock.setTimer(ms, () => controller.abort(new DeadlineError(`deadline of ${ms} ms exceeded`)));
  const following = onAbort(parent, () => controller.abort(parent.reason));
  const dispose = () => {
    cancel();
    following[Symbol.dispose]();
  };
  return Object.assign(controller.signal, { [Symbol.dispose]: dispose });
}

/**
 * A signal that is aborted as soon as one of `parents` is. Dispose of it when the work is done. Listeners left on a signal of
 * `AbortSignal.any` keep it alive as long as its parents; a disposed signal of `anySignal` can be collected.
 */
export function anySignal(...parents: readonly AbortSignal[]): AbortSignal & Disposable {
  const controller = new AbortController();
  const followed: Disposable[] = [];
  const dispose = () => {
    for (const parent of followed.splice(0)) parent[Symbol.dispose]();
  };
  for (const parent of parents) {
    const follow = () => {
      dispose();
      controller.abort(parent.reason);
    };
    followed.push(onAbort(parent, follow));
  }
  if (controller.signal.aborted) dispose();
  return Object.assign(controller.signal, { [Symbol.dispose]: dispose });
}

/** Resolves as soon as the signal is aborted. */
export async function untilAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}

/**
 * Rejects with the signal's reason as soon as it is aborted, otherwise settles as `work` does. A later failure of aborted
 * work is ignored; it does not become an unhandled rejection.
 */
export async function raceAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  // The listener is removed before the promise settles. Node.js links listeners, so a listener removed after the next one was added still
  // points to that one. In a loop, these would form one chain that also keeps the results alive, and only a collection of the whole heap
  // frees it.
  using _ = onAbort(signal, () => aborted.reject(signal.reason));
  return await Promise.race([aborted.promise, work]);
}

/**
 * Waits at most `ms` for `work`. Resolves with true if it has ended or failed by then. `work` continues otherwise; the caller still has to
 * handle its failure.
 */
export async function settlesWithin(clock: Clock, work: Promise<unknown>, ms: number): Promise<boolean> {
  const ended = new AbortController();
  const end = () => ended.abort();
  void work.then(end, end);
  await pause(clock, ms, ended.signal);
  return ended.signal.aborted;
}

/** Waits until all work has ended or failed. Then rejects with the error of the first failed item, in the order of the list. */
export async function allEnded(work: readonly Promise<unknown>[]): Promise<void> {
  for (const result of await Promise.allSettled(work)) if (result.status === 'rejected') throw result.reason;
}

/** The message of any thrown value. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
