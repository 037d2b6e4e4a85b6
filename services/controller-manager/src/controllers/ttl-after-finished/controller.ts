import { ignoreNotFound } from '@gantry/client';
import { type ControllerSpec, resultOf, watchSelf } from '@gantry/controller-runtime';
import { JOBS, keyOf } from '@gantry/objects';
import type { TtlMeter } from '../../metrics/workloads.ts';
import { planCleanup } from './plan.ts';

/** Deletes Jobs some time after their end; their pods are deleted first. */
export function createTtlAfterFinishedController(meter: TtlMeter): ControllerSpec {
  return {
    name: 'ttl-after-finished',
    eventSource: 'ttl-after-finished-controller',
    watches: [watchSelf(JOBS)],
    reconcile: async (key, { cache, client, clock }, signal) => {
      const cached = cache.get(JOBS, key);
      if (cached === undefined) return {};
      const plan = planCleanup(cached, clock.now());
      if (plan.actions.length === 0) return resultOf(plan, clock);
      // The cache may not show a changed TTL yet.
      const fresh = await ignoreNotFound(client.get(JOBS, key, signal));
      if (fresh === undefined) return {};
      const freshPlan = planCleanup(fresh, clock.now());
      for (const { job, due } of freshPlan.actions) {
        const { uid, resourceVersion } = job.metadata;
        const request = { uid, resourceVersion, propagationPolicy: 'Foreground' } as const;
        await ignoreNotFound(client.delete(JOBS, keyOf(job), request, signal));
        meter.deleted((clock.now() - due) / 1000);
      }
      return resultOf(freshPlan, clock);
    },
  };
}
