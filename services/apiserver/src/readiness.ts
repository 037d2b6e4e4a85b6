import { type Clock, settlesWithin, sleep, untilAborted } from '@gantry/base';
import { StatusError } from '@gantry/objects';
import type { GroupMember, HealthCheck } from '@gantry/service';
import type { WatchCache } from './cache/index.ts';
import type { HealthChecks } from './endpoints/router/health-routes.ts';

/** The state of an apiserver. Its parts change it. */
export interface ServerState {
  bootstrap: 'pending' | 'done';
  process: 'serving' | 'draining';
}

/** A readiness condition does not hold. */
class NotReadyError extends Error {
  override readonly name = 'NotReadyError';
}

/** The checks of `/livez` and `/readyz`. */
export function healthChecks(state: ServerState, cache: WatchCache, further: readonly HealthCheck[]): HealthChecks {
  const check = (name: string, holds: () => boolean, reason: string): HealthCheck => ({
    name,
    check: () => {
      if (!holds()) throw new NotReadyError(reason);
    },
  });
  return {
    livez: [],
    readyz: [
      check('watch-cache', () => cache.ready, 'the tree has not been read yet'),
      check('bootstrap', () => state.bootstrap === 'done', 'not finished'),
      check('shutdown', () => state.process === 'serving', 'process is shutting down'),
      ...further,
    ],
  };
}

/** How long a request waits for the first list. Clients repeat what is refused then. */
const FIRST_LIST_MS = 5000;

/** Undefined when requests can be served. Else rejects with ServiceUnavailable if that takes too long. */
export type StartGate = (signal: AbortSignal) => Promise<void> | undefined;

/**
 * Holds up requests until the first list. Before it, no role, ServiceAccount and custom resource is known: what is allowed would be forbidden, and
 * what exists not found, which no client repeats.
 */
export function startGate(cache: Pick<WatchCache, 'ready' | 'whenReady'>, clock: Clock): StartGate {
  return (signal) => (cache.ready ? undefined : untilListed(cache, clock, signal));
}

async function untilListed(cache: Pick<WatchCache, 'whenReady'>, clock: Clock, signal: AbortSignal): Promise<void> {
  const listed = cache.whenReady(signal);
  if (!(await settlesWithin(clock, listed, FIRST_LIST_MS)))
    throw StatusError.unavailable('this API server has not read the stored objects yet');
  await listed;
}

/** The last member of the group, which drains first. `/readyz` fails for `unreadyMs` before other members stop. */
export function readinessMember(state: ServerState, clock: Clock, unreadyMs: number): GroupMember {
  return {
    name: 'readiness',
    run: untilAborted,
    drain: async (signal) => {
      state.process = 'draining';
      await sleep(clock, unreadyMs, signal);
    },
  };
}
