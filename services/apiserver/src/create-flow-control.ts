import type { Clock } from '@gantry/base';
import { FLOW_SCHEMAS, PRIORITY_LEVEL_CONFIGURATIONS } from '@gantry/objects';
import type { GroupMember, Logger, Metrics } from '@gantry/service';
import type { WatchCache } from './cache/index.ts';
import { FlowController } from './flow-control/flow-controller.ts';
import { flowObjects } from './loops/flow-objects/flow-objects.ts';
import type { LoopbackClient } from './loopback-client.ts';

/** Flow control by the cached configuration, and what keeps that configuration. */
export function createFlowControl(
  { clock, metrics, logger }: { readonly clock: Clock; readonly metrics: Metrics; readonly logger: Logger },
  cache: WatchCache,
): { readonly control: FlowController; readonly members: (client: LoopbackClient) => readonly GroupMember[] } {
  // Looked up once: every request asks for both snapshots.
  const schemas = cache.resource(FLOW_SCHEMAS);
  const levels = cache.resource(PRIORITY_LEVEL_CONFIGURATIONS);
  const source = { schemas: () => schemas.snapshot(), levels: () => levels.snapshot() };
  const control = new FlowController({ source, clock, metrics });
  return {
    control,
    members: (client) => [
      { name: 'flow-control', run: (signal) => control.run(signal) },
      flowObjects({ client, cache, clock, logger }),
    ],
  };
}
