import { type ApiObject, controllerOf, hasCondition, isActive } from '../history/api-objects.ts';
import type { ObjectVersion, World } from '../history/world.ts';
import type { Source } from '../read-artifacts.ts';
import type { Findings } from '../verdict.ts';
import { boundsOf, type Invariant } from './invariant.ts';
import { Recent } from './recent.ts';

const INDEX = 'batch.kubernetes.io/job-completion-index';
const SCHEDULED = 'batch.kubernetes.io/cronjob-scheduled-timestamp';

/**
 * I16 (Kubernetes: Job tracking with finalizers, CronJob). `status.succeeded` of a Job counts each succeeded pod at most once, never
 * falls, and equals their number when the Job is complete. No more pods succeed than completions + parallelism. No pod is created beside as
 * many active ones as the parallelism, for an index that has completed, or that another active pod has. A CronJob creates one Job for each
 * scheduled time. Marks of clients show no index that ran again in a pod that was created after another one's success had been committed,
 * unless that one was being deleted when it succeeded. From etcd's history and the clients' marks.
 */
export const jobsCountOnce: Invariant = {
  id: 'I16',
  title: 'Jobs count each pod once, CronJobs fire each time once',
  unit: 'Jobs, counts and creations of their pods',
  needs: ['etcd'],
  observe(world, findings) {
    const succeeded = new Map<string, Set<string>>();
    /** When a pod, by uid, was created, and when its success, which its Job had to count, was committed. */
    const createdMs = new Map<string, number>();
    const succeededMs = new Map<string, number>();
    const marked = new Map<string, { readonly uid: string; readonly source: Source }[]>();
    const learnPod = (pod: ApiObject | undefined, atMs: number) => {
      const job = controllerOf(pod);
      if (job?.kind !== 'Job' || job.uid === undefined || pod?.status?.phase !== 'Succeeded') return;
      const uids = succeeded.get(job.uid) ?? new Set();
      const uid = pod.metadata?.uid ?? '';
      succeeded.set(job.uid, uids.add(uid));
      if (!succeededMs.has(uid) && !isFailedBefore(pod, world.byUid.get(job.uid)?.object)) succeededMs.set(uid, atMs);
    };
    const parallelism = new Parallelism(world);
    const judgePod = (key: string, pod: ApiObject, atMs: number, source: Source) => {
      const job = world.byUid.get(controllerOf(pod)?.uid ?? '');
      if (job?.resource !== 'batch/jobs') return;
      findings.checked();
      const crowd = parallelism.crowdAround(key, job, atMs);
      if (crowd !== undefined)
        findings.violation(atMs, `${key} was created beside ${crowd} active pods`, job.source, source);
      const index = pod.metadata?.annotations?.[INDEX];
      if (index === undefined) return;
      const done = job.object?.status?.completedIndexes ?? '';
      if (contains(done, Number(index)))
        findings.violation(atMs, `${key} was created for index ${index}, which is complete`, job.source, source);
      const other = otherPodOf(world, { job, key, index });
      if (other === undefined) return;
      findings.violation(atMs, `${key} was created for index ${index}, which ${other.key} has`, other.source, source);
    };
    const judgeJob = (before: ObjectVersion | undefined, after: ObjectVersion) => {
      const job = after.object;
      const counted = job?.status?.succeeded ?? 0;
      const old = before?.object?.status?.succeeded ?? 0;
      const uids = succeeded.get(job?.metadata?.uid ?? '')?.size ?? 0;
      // Of a Job that is older than the run, pods may have succeeded before.
      if (counted === old || !born.has(job?.metadata?.uid ?? '')) return;
      findings.checked();
      const { completions, parallelism = 1 } = job?.spec ?? {};
      const report = (what: string) =>
        findings.violation(after.atMs, `${after.key}: ${what}`, before?.source, after.source);
      if (counted < old) report(`succeeded falls from ${old} to ${counted}`);
      if (counted > uids) report(`succeeded is ${counted}, but ${uids} pods have succeeded`);
      if (completions !== undefined && uids > completions + parallelism)
        report(`${uids} pods succeeded for ${completions} completions`);
      if (hasCondition(job, 'Complete') && counted < uids && uids <= (completions ?? 0))
        report(`complete with ${counted} of ${uids} succeeded pods`);
    };
    const born = new Set<string>();
    const judgeFiring = firings(findings);
    return {
      change({ resource, key, before, after, atMs, source }) {
        if (resource === 'pods') {
          learnPod(after?.object, atMs);
          if (before === undefined && after !== undefined) {
            createdMs.set(after.object?.metadata?.uid ?? '', atMs);
            judgePod(key, after.object ?? {}, atMs, source);
          }
        }
        if (resource !== 'batch/jobs' || after === undefined) return;
        parallelism.learn(before, after);
        if (before === undefined) {
          born.add(after.object?.metadata?.uid ?? '');
          judgeFiring(after);
        }
        judgeJob(before, after);
      },
      client(line, source) {
        if (!('observe' in line) || line.observe !== 'job-done') return;
        const [mark = '', uid = ''] = line.value.split('@');
        const id = `${line.key}#${mark}`;
        const known = marked.get(id) ?? [];
        marked.set(id, known);
        findings.checked();
        // A pod may repeat its own mark: its request was done without a response.
        const earlier = known.find(
          (one) => one.uid !== uid && (succeededMs.get(one.uid) ?? Infinity) < (createdMs.get(uid) ?? 0),
        );
        known.push({ uid, source });
        if (earlier === undefined) return;
        const what = `${line.key}: ${mark} was done again by pod ${uid}, created after pod ${earlier.uid} had succeeded`;
        findings.violation(line.atMs, what, earlier.source, source);
      },
    };
  },
};

/**
 * Whether its Job may have counted a pod as failed before the pod succeeded (Kubernetes: podReplacementPolicy, by default TerminatingOrFailed).
 * An agent that was away tells late what its pods did, also of one that was given up.
 */
function isFailedBefore(pod: ApiObject, job: ApiObject | undefined): boolean {
  return pod.metadata?.deletionTimestamp !== undefined && job?.spec?.podReplacementPolicy !== 'Failed';
}

/** Judges that a CronJob creates one Job for each scheduled time. */
function firings(findings: Findings): (job: ObjectVersion) => void {
  const fired = new Map<string, { uid: string; source: Source }>();
  return (job: ObjectVersion) => {
    const cron = controllerOf(job.object);
    const time = job.object?.metadata?.annotations?.[SCHEDULED];
    const uid = job.object?.metadata?.uid ?? '';
    if (cron?.kind !== 'CronJob' || time === undefined) return;
    findings.checked();
    const before = fired.get(`${cron.uid} ${time}`);
    if (before !== undefined && before.uid !== uid) {
      findings.violation(job.atMs, `${cron.name} fired ${time} twice`, before.source, job.source);
    }
    fired.set(`${cron.uid} ${time}`, { uid, source: job.source });
  };
}

/** The parallelism of Jobs within the time that a view may be old. */
class Parallelism {
  readonly #world: World;
  readonly #known = new Map<string, Recent<number>>();

  constructor(world: World) {
    this.#world = world;
  }

  learn(before: ObjectVersion | undefined, { key, atMs, object }: ObjectVersion): void {
    const recent = this.#known.get(key) ?? new Recent<number>(boundsOf(this.#world).staleMs);
    this.#known.set(key, recent);
    if (before !== undefined) recent.add(atMs, parallelismOf(before.object));
    recent.add(atMs, parallelismOf(object));
  }

  /** `2 of 2`, if a new pod's Job has as many other active ones as it may have; else undefined. */
  crowdAround(key: string, job: ObjectVersion, atMs: number): string | undefined {
    const pods = this.#world.dependentsOf(job.object?.metadata?.uid, 'pods');
    const active = pods.filter((one) => one.key !== key && isActive(one.object)).length;
    const most = Math.max(parallelismOf(job.object), ...(this.#known.get(job.key)?.at(atMs) ?? []));
    return active < most ? undefined : `${active} of ${most}`;
  }
}

const parallelismOf = (job: ApiObject | undefined): number => job?.spec?.parallelism ?? 1;

interface IndexedPod {
  readonly job: ObjectVersion;
  readonly key: string;
  readonly index: string;
}

/** Another active pod of the same Job and index. */
function otherPodOf(world: World, { job, key, index }: IndexedPod): ObjectVersion | undefined {
  return world
    .dependentsOf(job.object?.metadata?.uid, 'pods')
    .find((one) => one.key !== key && isActive(one.object) && one.object?.metadata?.annotations?.[INDEX] === index);
}

/** Whether `1,3-5` contains an index. */
function contains(indexes: string, index: number): boolean {
  return indexes.split(',').some((range) => {
    const [first = '', last = first] = range.split('-');
    return first !== '' && Number(first) <= index && index <= Number(last);
  });
}
