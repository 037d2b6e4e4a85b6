import type { PodFailurePolicyRule } from '@gantry/objects';
import { exponentialBuckets, type Metrics } from '@gantry/service';
import type { CreationReason } from '../controllers/job/plan.ts';

type CompletionMode = 'Indexed' | 'NonIndexed';

export interface JobMeter {
  synced(sync: {
    readonly mode: CompletionMode;
    readonly result: 'success' | 'error';
    readonly action: 'pods_created' | 'pods_deleted' | 'tracking';
    readonly seconds: number;
  }): void;
  /** Counts an ended Job; `reason` is that of its condition. */
  finished(mode: CompletionMode, result: 'succeeded' | 'failed', reason: string): void;
  /** Adds pods that are newly in the counters of a Job's status. */
  podsFinished(mode: CompletionMode, result: 'succeeded' | 'failed', count: number): void;
  /** Adds indexes that are newly in the status of an Indexed Job. `limit` is the limit that its failures count against. */
  indexesFinished(status: 'succeeded' | 'failed', limit: 'perIndex' | 'global', count: number): void;
  /** Adds created pods, or failed creations. Kubernetes counts failed ones among the created ones too. */
  podsCreated(reason: CreationReason, status: 'succeeded' | 'failed', count: number): void;
  /** Counts a decision of a podFailurePolicy rule on a failed pod. */
  failureHandled(action: PodFailurePolicyRule['action']): void;
  /** Counts an ended pod that gets the finalizer (`add`) or loses it. */
  tracked(event: 'add' | 'delete'): void;
  /** Counts a Job whose `managedBy` names another controller. */
  managedElsewhere(managedBy: string): void;
}

/**
 * Users choose these names, and Kubernetes does not limit them. After the first 100, all names share one that is not a valid `managedBy`.
 */
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
  const finished = counter('jobs_finished_total', 'Finished Jobs', ['completion_mode', 'result', 'reason']);
  const ended = counter('job_pods_finished_total', 'Finished pods that their Jobs have counted', [
    'completion_mode',
    'result',
  ]);
  const indexes = counter('job_finished_indexes_total', 'Finished indexes', ['status', 'backoffLimit']);
  const created = counter('job_pods_creation_total', 'Successful and failed creations of pods', ['reason', 'status']);
  const handled = counter(
    'pod_failures_handled_by_failure_policy_total',
    'Failed pods that matched a rule of the failure policy',
    ['action'],
  );
  const tracked = counter('terminated_pods_tracking_finalizer_total', 'Finished pods that got or lost the finalizer', [
    'event',
  ]);
  const elsewhere = counter(
    'jobs_by_external_controller_total',
    'Jobs that another controller runs: the first 100 names, and `other`',
    ['controller_name'],
  );
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

export interface PodSetMeter {
  /** Records the age of a ready pod chosen for deletion as a multiple of the youngest pod's age. */
  choseAge(ratio: number): void;
}

/** One metric for ReplicaSets and ReplicationControllers, as in Kubernetes. */
export function podSetMeter(metrics: Metrics): PodSetMeter {
  const ratios = metrics.histogram(
    'replicaset_controller_sorting_deletion_age_ratio',
    'Age of a deleted ready pod divided by the age of the youngest one, also for ReplicationControllers',
    [],
    exponentialBuckets(0.25, 2, 6),
  );
  return { choseAge: (ratio) => ratios.observe(ratio) };
}

export interface TtlMeter {
  /** Records the seconds between the expiry of a Job's TTL and its deletion. */
  deleted(secondsLate: number): void;
}

export function ttlMeter(metrics: Metrics): TtlMeter {
  const seconds = metrics.histogram(
    'ttl_after_finished_controller_job_deletion_duration_seconds',
    "Delay between the end of a finished Job's time to live and its deletion",
    [],
    exponentialBuckets(0.1, 2, 14),
  );
  return { deleted: (secondsLate) => seconds.observe(secondsLate) };
}

export interface CronJobMeter {
  /** Records the delay between a scheduled time and the creation of its Job. */
  jobCreated(skewSeconds: number): void;
}

export interface AutoscalerMeter {
  reconciled(result: {
    readonly action: 'scale_up' | 'scale_down' | 'none';
    readonly error: 'spec' | 'internal' | 'none';
    readonly seconds: number;
  }): void;
  /** Records a computed metric; `type` is that of its source. */
  computed(result: {
    readonly type: string;
    readonly action: 'scale_up' | 'scale_down' | 'none';
    readonly error: 'spec' | 'internal' | 'none';
    readonly seconds: number;
  }): void;
  /** Sets an autoscaler's desired count; undefined when it is deleted. */
  wants(namespace: string, name: string, replicas: number | undefined): void;
  /** Forgets all autoscalers: another leader has them. */
  clear(): void;
}

export function cronJobMeter(metrics: Metrics): CronJobMeter {
  const skew = metrics.histogram(
    'cronjob_controller_job_creation_skew_duration_seconds',
    "Delay between the scheduled time of a CronJob's Job and its creation",
    [],
    exponentialBuckets(1, 2, 10),
  );
  return { jobCreated: (seconds) => skew.observe(seconds) };
}

export function autoscalerMeter(metrics: Metrics): AutoscalerMeter {
  const prefix = 'horizontal_pod_autoscaler_controller';
  const wanted = new Map<string, { readonly namespace: string; readonly name: string; readonly replicas: number }>();
  const labels = ['action', 'error'];
  const total = metrics.counter(`${prefix}_reconciliations_total`, 'Reconciles of autoscalers', labels);
  const seconds = metrics.histogram(
    `${prefix}_reconciliation_duration_seconds`,
    'Time of one reconcile of an autoscaler',
    labels,
    exponentialBuckets(0.001, 2, 15),
  );
  const metricLabels = [...labels, 'metric_type'];
  const computations = metrics.counter(
    `${prefix}_metric_computation_total`,
    'Computations of single metrics',
    metricLabels,
  );
  const computing = metrics.histogram(
    `${prefix}_metric_computation_duration_seconds`,
    'Time to read and compute one metric',
    metricLabels,
    exponentialBuckets(0.001, 2, 15),
  );
  metrics.gauge(`${prefix}_num_horizontal_pod_autoscalers`, 'Autoscalers', [], ({ set }) => set(wanted.size));
  metrics.gauge(
    `${prefix}_desired_replicas`,
    'Desired replicas of each autoscaler',
    ['namespace', 'hpa_name'],
    ({ set }) => {
      for (const { namespace, name, replicas } of wanted.values()) set(replicas, { namespace, hpa_name: name });
    },
  );
  return {
    reconciled: ({ action, error, seconds: took }) => {
      total.inc({ action, error });
      seconds.observe(took, { action, error });
    },
    computed: ({ type, action, error, seconds: took }) => {
      const values = { action, error, metric_type: type };
      computations.inc(values);
      computing.observe(took, values);
    },
    wants: (namespace, name, replicas) => {
      if (replicas === undefined) wanted.delete(`${namespace}/${name}`);
      else wanted.set(`${namespace}/${name}`, { namespace, name, replicas });
    },
    clear: () => wanted.clear(),
  };
}
