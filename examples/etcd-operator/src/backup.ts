import { controllerReference, type Job, type Pod } from '@gantry/operator';
import { CLUSTER_LABEL, type EtcdCluster } from './etcd-cluster.ts';
import { backupPodSpec } from './member-pod.ts';

/** Number of the backup, which counts the intervals since 1970. So a schedule needs no memory, and a missed one is not made up for. */
const NUMBER = 'etcd.example.com/backup';
const FILE = 'etcd.example.com/file';
const MINUTE_MS = 60_000;

/** What the backups of a cluster need next. */
export interface BackupPlan {
  readonly create: Job | undefined;
  /** Jobs whose files have been overwritten. */
  readonly remove: readonly Job[];
  /** What can be restored, newest first. */
  readonly backups: readonly { readonly file: string; readonly time: string }[];
  readonly condition: {
    readonly type: string;
    readonly status: 'True' | 'False' | 'Unknown';
    readonly reason: string;
    readonly message: string;
  };
  /** When the next one is due, in milliseconds since 1970. */
  readonly nextAt: number;
}

/** Undefined if no backups are wanted. `isAvailable`: there is something to save. */
export function planBackups(
  cluster: EtcdCluster,
  jobs: readonly Job[],
  isAvailable: boolean,
  now: number,
): BackupPlan | undefined {
  const { backup } = cluster.spec;
  if (backup === undefined) return undefined;
  const { everyMinutes, keep, claimName } = backup;
  const everyMs = everyMinutes * MINUTE_MS;
  const number = Math.floor(now / everyMs);
  const name = `${cluster.metadata.name}-backup-${number}`;
  const newest = jobs.toSorted((a, b) => numberOf(b) - numberOf(a));
  const isThere = newest.some(({ metadata }) => metadata.name === name);
  const isRunning = newest.some((job) => !isDone(job) && !isFailed(job));
  // One after the other: two must not write the same file.
  const create = isThere || isRunning || !isAvailable ? undefined : backupJob(cluster, claimName, name, number, keep);
  const succeeded = newest.filter(isDone);
  const remove = [...succeeded.slice(keep), ...newest.filter(isFailed).slice(keep)];
  const backups = succeeded.slice(0, keep).map(({ metadata, status }) => ({
    file: metadata.annotations?.[FILE] ?? '',
    time: status?.completionTime ?? '',
  }));
  return { create, remove, backups, condition: conditionOf(newest, backups), nextAt: (number + 1) * everyMs };
}

function conditionOf(newest: readonly Job[], backups: BackupPlan['backups']): BackupPlan['condition'] {
  const last = newest.find((job) => isDone(job) || isFailed(job));
  const [good] = backups;
  const before = good === undefined ? 'there is none before' : `the last one is ${good.file} of ${good.time}`;
  if (last === undefined)
    return { type: 'BackedUp', status: 'Unknown', reason: 'NoneYet', message: 'The first backup has not ended yet' };
  if (isFailed(last)) {
    return {
      type: 'BackedUp',
      status: 'False',
      reason: 'Failed',
      message: `Job ${last.metadata.name} has failed; ${before}`,
    };
  }
  return {
    type: 'BackedUp',
    status: 'True',
    reason: 'Saved',
    message: `The last backup is ${good?.file} of ${good?.time}`,
  };
}

/** `etcdctl` writes another file first, and renames it. */
function backupJob(cluster: EtcdCluster, claimName: string, name: string, number: number, keep: number): Job {
  const file = `${cluster.metadata.name}-${number % keep}.db`;
  const { namespace } = cluster.metadata;
  const template: { spec: NonNullable<Pod['spec']> } = { spec: backupPodSpec(cluster, claimName, file) };
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      labels: { [CLUSTER_LABEL]: cluster.metadata.name ?? '' },
      annotations: { [NUMBER]: String(number), [FILE]: file },
      ownerReferences: [controllerReference(cluster)],
    },
    spec: { backoffLimit: 2, activeDeadlineSeconds: 3600, template },
  };
}

function numberOf({ metadata }: Job): number {
  return Number(metadata.annotations?.[NUMBER] ?? 0);
}

function has(job: Job, condition: string): boolean {
  return job.status?.conditions?.some(({ type, status }) => type === condition && status === 'True') === true;
}

function isDone(job: Job): boolean {
  return has(job, 'Complete');
}

function isFailed(job: Job): boolean {
  return has(job, 'Failed');
}
