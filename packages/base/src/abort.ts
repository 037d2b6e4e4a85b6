import { once } from 'node:events';
import { type Clock, pause } from './clock.ts';

/** The abort reason of a signal whose deadline has passed. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
}

/** Calls `listener` once when the signal is aborted: now if it is. Dispose of it when the signal no longer matters, for it may live on. */
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
 * A signal that is aborted with the first of `parents`. Unlike one of `AbortSignal.any`, it does not live as long as its parents
 * when a listener is left on it: dispose of it when the work is done.
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
  // Removed before it settles: a listener that is removed after the next was added goes on pointing to it (Node.js links them). In a
  // loop they would be one chain, with what each has waited for, that only a collection of the whole heap takes apart.
  using _ = onAbort(signal, () => aborted.reject(signal.reason));
  return await Promise.race([aborted.promise, work]);
}

/** Resolves with whether `work` has ended or failed after `ms` at most. It goes on, and its failure is for the caller that waits for it. */
export async function settlesWithin(clock: Clock, work: Promise<unknown>, ms: number): Promise<boolean> {
  const ended = new AbortController();
  const end = () => ended.abort();
  void work.then(end, end);
  await pause(clock, ms, ended.signal);
  return ended.signal.aborted;
}

/** Waits until all work has ended or failed; rejects then as the first in order that failed. */
export async function allEnded(work: readonly Promise<unknown>[]): Promise<void> {
  for (const result of await Promise.allSettled(work)) if (result.status === 'rejected') throw result.reason;
}

/** The message of any thrown value. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
