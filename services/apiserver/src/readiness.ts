import { type Clock, sleep, untilAborted } from '@gantry/base';
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
