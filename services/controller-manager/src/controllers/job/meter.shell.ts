import type { PodFailurePolicyRule } from '@gantry/objects';
import { exponentialBuckets, type Metrics } from '@gantry/service';
import type { CreationReason } from './plan.ts';

type CompletionMode = 'Indexed' | 'NonIndexed';

export interface JobMeter {
  synced(sync: {
    readonly mode: CompletionMode;
    readonly result: 'success' | 'error';
    readonly action: 'pods_created' | 'pods_deleted' | 'tracking';
    readonly seconds: number;
  }): void;
  /** A Job has ended; `reason` is that of its condition. */
  finished(mode: CompletionMode, result: 'succeeded' | 'failed', reason: string): void;
  /** So many more pods are in the counters of a Job's status. */
  podsFinished(mode: CompletionMode, result: 'succeeded' | 'failed', count: number): void;
  /** So many more indexes are in the status of an Indexed Job. `limit` says what its failures are counted against. */
  indexesFinished(status: 'succeeded' | 'failed', limit: 'perIndex' | 'global', count: number): void;
  /** So many pods were created, or could not be. Kubernetes counts what could not be among what was, too. */
  podsCreated(reason: CreationReason, status: 'succeeded' | 'failed', count: number): void;
  /** A rule of a podFailurePolicy decided on a failed pod. */
  failureHandled(action: PodFailurePolicyRule['action']): void;
  /** A pod that has ended has the finalizer from now on (`add`), or no longer. */
  tracked(event: 'add' | 'delete'): void;
  /** A Job was seen whose `managedBy` names another controller. */
  managedElsewhere(managedBy: string): void;
}

/** Users choose these names, and Kubernetes does not bound them. Names after the first 100 share one that no `managedBy` can have. */
const MAX_MANAGERS = 100;
const OTHER_MANAGERS = 'other';

const PREFIX = 'job_controller';

/** Names, labels and buckets are those of Kubernetes' `pkg/controller/job/metrics`. */
export function jobMeter(metrics: Metrics): JobMeter {
  const counter = (name: string, help: string, labels: string[]) => metrics.counter(`${PREFIX}_${name}`, help, labels);
  const syncLabels = ['completion_mode', 'result', 'action'];
  const syncs = counter('job_syncs_total', 'Reconciles of Jobs', syncLabels);
  const seconds = metrics.histogram(
    `${PREFIX}_job_sync_duration_seconds`,
    'Time of one reconcile of a Job',
    syncLabels,
    exponentialBuckets(0.004, 2, 15),
  );
  const finished = counter('jobs_finished_total', 'Jobs that have ended', ['completion_mode', 'result', 'reason']);
  const ended = counter('job_pods_finished_total', 'Ended pods that their Jobs have counted', [
    'completion_mode',
    'result',
  ]);
  const indexes = counter('job_finished_indexes_total', 'Indexes that have ended', ['status', 'backoffLimit']);
  const created = counter('job_pods_creation_total', 'Pods that were created for Jobs, or could not be', [
    'reason',
    'status',
  ]);
  const handled = counter('pod_failures_handled_by_failure_policy_total', 'Failed pods on which a rule decided', [
    'action',
  ]);
  const tracked = counter('terminated_pods_tracking_finalizer_total', 'Ended pods that got or lost the finalizer', [
    'event',
  ]);
  const elsewhere = counter('jobs_by_external_controller_total', 'Jobs that another controller runs', [
    'controller_name',
  ]);
  const managers = new Set<string>();
  return {
    synced: ({ mode, result, action, seconds: took }) => {
      const labels = { completion_mode: mode, result, action };
      syncs.inc(labels);
      seconds.observe(took, labels);
    },
    finished: (mode, result, reason) => finished.inc({ completion_mode: mode, result, reason }),
    podsFinished: (mode, result, count) => ended.inc({ completion_mode: mode, result }, count),
    indexesFinished: (status, backoffLimit, count) => indexes.inc({ status, backoffLimit }, count),
    podsCreated: (reason, status, count) => created.inc({ reason, status }, count),
    failureHandled: (action) => handled.inc({ action }),
    tracked: (event) => tracked.inc({ event }),
    managedElsewhere: (managedBy) => {
      if (managers.size < MAX_MANAGERS) managers.add(managedBy);
      elsewhere.inc({ controller_name: managers.has(managedBy) ? managedBy : OTHER_MANAGERS });
    },
  };
}
