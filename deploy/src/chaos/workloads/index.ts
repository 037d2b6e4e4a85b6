import { APPEND_WORKLOAD } from './appends.ts';
import { CONNECTION_WORKLOAD } from './connections.ts';
import { COUNTER_WORKLOAD } from './counters.ts';
import { ELECTOR_WORKLOAD } from './electors.ts';
import { FINALIZER_WORKLOAD } from './finalizers.ts';
import { JOB_WORKLOAD } from './jobs.ts';
import { QUOTA_WORKLOAD } from './quotas.ts';
import { REQUEST_WORKLOAD } from './requests.ts';
import { ROLLOUT_WORKLOAD } from './rollouts.ts';
import { SET_WORKLOAD } from './sets.ts';
import { WATCHER_WORKLOAD } from './watchers.ts';
import type { Workload } from './workload.ts';

/** All workloads, in the order in which they start. */
export const WORKLOADS: readonly Workload[] = [
  WATCHER_WORKLOAD,
  COUNTER_WORKLOAD,
  ROLLOUT_WORKLOAD,
  JOB_WORKLOAD,
  SET_WORKLOAD,
  FINALIZER_WORKLOAD,
  APPEND_WORKLOAD,
  CONNECTION_WORKLOAD,
  QUOTA_WORKLOAD,
  ELECTOR_WORKLOAD,
  REQUEST_WORKLOAD,
];
