import { PODS } from '@gantry/objects';
import { createMetrics } from '@gantry/service';
import { expect, it } from 'vitest';
import { staleReporter } from './stale-meters.ts';

it('counts postponed reconciles in the metrics of Kubernetes, by controller', async () => {
  const metrics = createMetrics('part');
  const onStale = staleReporter(metrics);
  for (const controller of ['replica-set', 'replication', 'job', 'deployment']) {
    onStale({ controller, resource: PODS });
  }
  const lines = (await metrics.render()).text.split('\n').filter((line) => /^\w+_stale/.test(line));
  expect(lines).toEqual([
    'replicaset_controller_stale_sync_skips_total{group="",resource="pods"} 2',
    'job_controller_stale_sync_skips_total{group="",resource="pods"} 1',
  ]);
});
