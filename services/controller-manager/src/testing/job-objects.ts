import { formatTime, type Instant } from '@gantry/base';
import { controllerReference, type Job, type JobSpec, type Pod, TRACKING_FINALIZER } from '@gantry/objects';
import { COMPLETION_INDEX } from '../controllers/job/job-rules.ts';

/** A short description of a Job's pod. */
export interface PodSketch {
  readonly is: 'pending' | 'running' | 'ready' | 'succeeded' | 'failed';
  readonly uid?: string;
  readonly index?: number;
  readonly failures?: number;
  readonly exit?: number;
  readonly restarts?: number;
  readonly condition?: string;
  readonly deleting?: boolean;
  readonly finalizer?: boolean;
  readonly owned?: boolean;
  readonly selected?: boolean;
  /** Seconds from now at which the pod ended; 0 when absent. */
  readonly end?: number;
}

const PHASES = { pending: 'Pending', running: 'Running', ready: 'Running', succeeded: 'Succeeded', failed: 'Failed' };
const LABELS = { job: 'work' };

/** A Job in the namespace `n` with the API server's defaults. */
export function exampleJob(spec: Partial<JobSpec>, { restartPolicy = 'Never' } = {}): Job {
  const template = { metadata: { labels: LABELS }, spec: { containers: [{ name: 'c', image: 'i' }], restartPolicy } };
  const defaults = { parallelism: 1, backoffLimit: 6, completionMode: 'NonIndexed', suspend: false };
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'work', namespace: 'n', uid: 'job', generation: 1 },
    spec: { ...defaults, selector: { matchLabels: LABELS }, template, ...spec },
  };
}

export function sketchedPod(sketch: PodSketch, uid: string, job: Job, now: Instant): Pod {
  const { index, failures, owned = true, finalizer = true, selected = true, deleting = false } = sketch;
  const annotations = {
    ...(index === undefined ? {} : { [COMPLETION_INDEX]: String(index) }),
    ...(failures === undefined ? {} : { 'batch.kubernetes.io/job-index-failure-count': String(failures) }),
  };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: uid,
      namespace: 'n',
      uid,
      labels: selected ? LABELS : {},
      annotations,
      creationTimestamp: formatTime(now - 120_000),
      ...(finalizer ? { finalizers: [TRACKING_FINALIZER] } : {}),
      ...(owned ? { ownerReferences: [controllerReference(job)] } : {}),
      ...(deleting ? { deletionTimestamp: formatTime(now + 1000 * (sketch.end ?? 0)) } : {}),
    },
    spec: { containers: [{ name: 'c', image: 'i' }], nodeName: 'node' },
    status: podStatus(sketch, now),
  };
}

/** The status of a pod with one container `c`. */
export function podStatus(
  { is, exit, restarts = 0, condition, end = 0 }: PodSketch,
  now: Instant,
): NonNullable<Pod['status']> {
  const exitCode = exit ?? { succeeded: 0, failed: 1, pending: undefined, running: undefined, ready: undefined }[is];
  const time = formatTime(now + end * 1000);
  const terminated = exitCode === undefined ? {} : { terminated: { exitCode, finishedAt: time } };
  const conditions = [
    ...(is === 'ready' ? [{ type: 'Ready', status: 'True', lastTransitionTime: time }] : []),
    ...(condition === undefined ? [] : [{ type: condition, status: 'True' }]),
  ];
  return {
    phase: PHASES[is],
    conditions,
    containerStatuses: [
      { name: 'c', image: 'i', imageID: '', ready: is === 'ready', restartCount: restarts, state: terminated },
    ],
  };
}
