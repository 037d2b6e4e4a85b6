import { COUNTER_WORKLOAD } from './counters.ts';
import { ROLLOUT_WORKLOAD } from './rollouts.ts';
import { WATCHER_WORKLOAD } from './watchers.ts';
import type { Workload } from './workload.ts';

/** All workloads, in the order in which they start. */
export const WORKLOADS: readonly Workload[] = [WATCHER_WORKLOAD, COUNTER_WORKLOAD, ROLLOUT_WORKLOAD];
