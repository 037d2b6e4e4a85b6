import type { Choices } from '../options.ts';
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

/** All workloads, in the order in which they start. `runnable` leaves out those that this machine cannot run. */
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

/** Those that this machine can run, and why it cannot run the others. */
export function runnable(workloads: readonly Workload[]): Pick<Choices, 'workloads' | 'impossible'> {
  const missing = workloads.map((workload) => [workload.name, workload.missing?.()] as const);
  const impossible = new Map(missing.filter((one): one is [string, string] => one[1] !== undefined));
  return { workloads: workloads.filter(({ name }) => !impossible.has(name)), impossible };
}
