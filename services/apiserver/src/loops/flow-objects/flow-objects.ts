import { type Clock, ControlLoop, errorMessage } from '@gantry/base';
import type { KubeObject, ResourceRef } from '@gantry/objects';
import type { GroupMember, Logger } from '@gantry/service';
import type { WatchCache } from '../../cache/index.ts';
import { ensureStandingObjects } from '../bootstrap/bootstrap.ts';
import { FLOW_GROUP, flowStandingObjects } from '../bootstrap/standing-objects.ts';
import type { LoopbackClient } from '../../loopback-client.ts';
import { withDangling } from './plan-dangling.ts';

/** Interval of checks without a change, as in Kubernetes. */
const INTERVAL_MS = 60_000;
const SCHEMAS: ResourceRef = { group: FLOW_GROUP, version: 'v1', resource: 'flowschemas' };
const LEVELS: ResourceRef = { group: FLOW_GROUP, version: 'v1', resource: 'prioritylevelconfigurations' };
const RETRY = { initialMs: 500, maxMs: 30_000 };

export interface FlowObjectsOptions {
  readonly client: LoopbackClient;
  readonly cache: WatchCache;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Maintains the default flow schemas and priority levels. Creates deleted ones again. Updates suggested ones to their defaults, unless
 * users have disabled that by annotation. Writes into the status of each schema whether its level exists. Idempotent; several apiservers
 * may run it at the same time.
 */
export function flowObjects(options: FlowObjectsOptions): GroupMember {
  const { client, cache, clock, logger } = options;
  return new ControlLoop({
    name: 'flow-objects',
    clock,
    intervalMs: INTERVAL_MS,
    retry: RETRY,
    subscribe: (notify) => [SCHEMAS, LEVELS].map((resource) => cache.resource(resource).observe(notify)),
    round: async (signal) => {
      await cache.whenReady(signal);
      await ensureStandingObjects(client, flowStandingObjects(), signal);
      await judgeSchemas(options, signal);
    },
    onError: (error) =>
      logger.warn({ reason: errorMessage(error) }, 'keeping the objects of flow control failed, retrying'),
  });
}

async function judgeSchemas({ client, cache, clock }: FlowObjectsOptions, signal: AbortSignal): Promise<void> {
  const objectsOf = (resource: ResourceRef) =>
    cache
      .resource(resource)
      .snapshot()
      .map(({ response }) => response.object);
  const levels = new Set(objectsOf(LEVELS).map(({ metadata }) => metadata.name ?? ''));
  for (const schema of objectsOf(SCHEMAS)) {
    const status = withDangling(schema, levels, clock.now());
    if (status !== undefined) await client.update(SCHEMAS, { ...schema, status } as KubeObject, 'status', signal);
  }
}
