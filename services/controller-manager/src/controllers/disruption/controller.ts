import type { Instant } from '@gantry/base';
import { ignoreNotFound } from '@gantry/client';
import { carryOut, type ControllerSpec, watchSelf } from '@gantry/controller-runtime';
import {
  CUSTOM_RESOURCE_DEFINITIONS,
  DEPLOYMENTS,
  formatKey,
  keyOf,
  POD_DISRUPTION_BUDGETS,
  type PodDisruptionBudget,
  PODS,
  REPLICA_SETS,
  REPLICATION_CONTROLLERS,
  STATEFUL_SETS,
} from '@gantry/objects';
import { RENEWAL_MS } from '../../libraries/event-renewal.ts';
import { controlledPods, podsOf, watchCountedPods, watchScale } from './budget-keys.ts';
import { needsScale } from './expected-pods.ts';
import { type Action, type ClearTarget, lastingOf, planBudget, planStaleCondition, targetOf } from './plan.ts';
import { type Report, reportId } from './reports.ts';
import { readScales } from './scales.shell.ts';
import { hasFailed } from './status.ts';

const EVENT_SOURCE = 'controllermanager';

/** Remembers lasting reports by the budget's key. */
class ReportMemory {
  /** By id: the time until which a report is recent. */
  readonly #reports = new Map<string, ReadonlyMap<string, Instant>>();

  /** Ids of reports that need not be repeated now. */
  recent(key: string, now: Instant): ReadonlySet<string> {
    const known = this.#reports.get(key) ?? new Map<string, Instant>();
    return new Set([...known].flatMap(([id, until]) => (now < until ? [id] : [])));
  }

  /** Records reports. Reports about the budget are repeated at a change before their Event expires; reports about its many pods are not. */
  note(key: string, budget: PodDisruptionBudget, lasting: readonly Report[], now: Instant): void {
    const known = this.#reports.get(key);
    const entries = lasting.map((report): [string, Instant] => {
      const until = known?.get(reportId(report)) ?? now;
      const renewal = report.about === budget ? now + RENEWAL_MS : Infinity;
      return [reportId(report), now < until ? until : renewal];
    });
    this.#reports.set(key, new Map(entries));
  }

  forget(key: string): void {
    this.#reports.delete(key);
  }

  clear(): void {
    this.#reports.clear();
  }
}

/** Maintains the status of PodDisruptionBudgets, from which the eviction subresource takes disruptions. */
export function createDisruptionController(): ControllerSpec {
  const reported = new ReportMemory();
  return {
    name: 'disruption',
    eventSource: EVENT_SOURCE,
    watches: [
      watchSelf(POD_DISRUPTION_BUDGETS),
      watchCountedPods,
      watchScale(DEPLOYMENTS, ({ metadata }, cache) =>
        cache
          .controlledBy(REPLICA_SETS, metadata.namespace ?? '', metadata.uid ?? '')
          .flatMap((set) => controlledPods(set, cache)),
      ),
      watchScale(REPLICA_SETS, controlledPods),
      watchScale(REPLICATION_CONTROLLERS, controlledPods),
      watchScale(STATEFUL_SETS, controlledPods),
      {
        // A changed definition may add the scale subresource that a budget needs.
        resource: CUSTOM_RESOURCE_DEFINITIONS,
        keys: (_definition, _old, cache) => cache.list(POD_DISRUPTION_BUDGETS).filter(hasFailed).map(keyOf),
      },
    ],
    begin: () => reported.clear(),
    reconcile: async (key, context, signal) => {
      const { cache, client, clock, events } = context;
      const budget = cache.get(POD_DISRUPTION_BUDGETS, key);
      const id = formatKey(key);
      if (budget === undefined) {
        reported.forget(id);
        return {};
      }
      const pods = podsOf(budget, cache);
      const others = cache.list(POD_DISRUPTION_BUDGETS, key.namespace).filter((other) => other !== budget);
      const { scales, failed } = await readScales(needsScale(budget.spec) ? pods : [], context, signal);
      const observed = { budget, pods, others, scales };
      const now = clock.now();
      const plan = planBudget({ ...observed, reported: reported.recent(id, now) }, now);
      const execute = async (action: Action): Promise<void> => {
        if (action.kind === 'report') events.event(action.about, action.type, action.reason, action.message);
        else
          await ignoreNotFound(
            client.updateStatus(POD_DISRUPTION_BUDGETS, { ...budget, status: action.status }, signal),
          );
      };
      const result = await carryOut(plan, execute, clock);
      reported.note(id, budget, lastingOf(observed), now);
      // A scale that could not be read is retried with back-off; meanwhile the status forbids evictions.
      if (failed !== undefined) throw failed.error;
      return result;
    },
  };
}

/** Clears the condition `DisruptionTarget` of pods that were not deleted. Keys are pods that have it. */
export const staleDisruptionController: ControllerSpec = {
  name: 'stale-disruption',
  eventSource: EVENT_SOURCE,
  watches: [{ resource: PODS, keys: (pod) => (pod === undefined || targetOf(pod) === undefined ? [] : [keyOf(pod)]) }],
  reconcile: async (key, { cache, client, clock }, signal) => {
    const pod = cache.get(PODS, key);
    if (pod === undefined) return {};
    const { uid, resourceVersion } = pod.metadata;
    const clear = ({ condition }: ClearTarget) => {
      const strategic = { metadata: { uid, resourceVersion }, status: { conditions: [condition] } };
      return ignoreNotFound(client.patch(PODS, key, { strategic, subresource: 'status' }, signal));
    };
    return await carryOut(planStaleCondition(pod, clock.now()), clear, clock);
  },
};
