import { type Clock, errorMessage } from '@gantry/base';
import type { GroupMember, Logger } from '@gantry/service';
import type { WatchCache } from '../../cache/index.ts';
import { ensureStandingObjects } from '../bootstrap/bootstrap.ts';
import { FLOW_GROUP, flowStandingObjects } from '../bootstrap/standing-objects.ts';
import { ControlLoop } from '../control-loop.ts';
import type { LoopbackClient } from '../loopback-client.ts';

/** How often they are looked at without a change: Kubernetes' interval. */
const INTERVAL_MS = 60_000;
const RETRY = { initialMs: 500, maxMs: 30_000 };

export interface FlowObjectsOptions {
  readonly client: LoopbackClient;
  readonly cache: WatchCache;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Keeps the flow schemas and priority levels that every cluster has: deleted ones come back, and suggested ones follow their default
 * unless their owner has taken them over. Idempotent; any number of apiservers may run it at once.
 */
export function flowObjects({ client, cache, clock, logger }: FlowObjectsOptions): GroupMember {
  const kinds = ['flowschemas', 'prioritylevelconfigurations'];
  return new ControlLoop({
    name: 'flow-objects',
    clock,
    intervalMs: INTERVAL_MS,
    retry: RETRY,
    whenReady: (signal) => cache.whenReady(signal),
    subscribe: (notify) => kinds.map((resource) => cache.resource({ group: FLOW_GROUP, resource }).observe(notify)),
    reconcile: (signal) => ensureStandingObjects(client, flowStandingObjects(), signal),
    onError: (error) =>
      logger.warn({ reason: errorMessage(error) }, 'keeping the objects of flow control failed, retrying'),
  });
}
