import { formatTime, type Instant } from '@gantry/base';
import { hasEnded, type Job, type Pod, TRACKING_FINALIZER } from '@gantry/objects';
import { type BackoffRecord, NO_FAILURES } from '../controllers/job/backoff.ts';
import { hasFinalizer, isJobFinished } from '../controllers/job/job-rules.ts';
import { type Action, planJob } from '../controllers/job/plan.ts';
import { isActive } from '../libraries/pods/pod-state.ts';
import { podStatus } from './job-objects.ts';

/**
 * An event for a Job's pods, for the controller's view, or for the controller itself. Numbers select one of the existing pods or states.
 */
export type JobEvent =
  | { readonly kind: 'run' | 'succeed' | 'fail' | 'delete' | 'vanish'; readonly pod: number }
  | { readonly kind: 'wait'; readonly seconds: number }
  /**
   * A reconcile that sees states up to `stale` changes old and ends after `writes` actions. The response to the last action may be
   * `lost`: it is carried out, but the controller does not know that. This does not apply to creations, since the controller would
   * create a second pod, as in Kubernetes.
   */
  | { readonly kind: 'look'; readonly stale: readonly number[]; readonly writes: number; readonly lost: boolean }
  | { readonly kind: 'failover' };

/** The successive states of one object. The controller sees any of them that is not older than its own last write. */
class Versions<T> {
  readonly #states: T[];
  #floor = 0;

  constructor(state: T) {
    this.#states = [state];
  }

  get latest(): T {
    return this.#states[this.#states.length - 1] as T;
  }

  set(state: T, by: 'controller' | 'other'): void {
    this.#states.push(state);
    if (by === 'controller') this.catchUp();
  }

  /** Makes the newest state the oldest one that can be seen, as for a new controller. */
  catchUp(): void {
    this.#floor = this.#states.length - 1;
  }

  seen(stale: number): T {
    return this.#states[Math.max(this.#floor, this.#states.length - 1 - stale)] as T;
  }
}

/** A Job, its pods, and a controller that may see old states, crash and be replaced. */
export class JobWorld {
  readonly #job: Versions<Job>;
  readonly #pods: Versions<Pod | undefined>[] = [];
  #backoff: BackoffRecord = NO_FAILURES;
  #settled = new Set<string>();
  now: Instant = Date.parse('2026-01-01T00:00:00Z');
  /** The number of pods that exist or existed, without those that the controller released without counting them. */
  counted = 0;
  /** The number of pods that succeeded. */
  succeeded = 0;
  mostActive = 0;

  constructor(job: Job) {
    this.#job = new Versions(job);
  }

  get job(): Job {
    return this.#job.latest;
  }

  get pods(): readonly Pod[] {
    return this.#pods.flatMap(({ latest }) => latest ?? []);
  }

  happen(event: JobEvent): void {
    switch (event.kind) {
      case 'wait':
        this.now += event.seconds * 1000;
        return;
      case 'failover':
        for (const versions of [this.#job, ...this.#pods]) versions.catchUp();
        this.#backoff = NO_FAILURES;
        this.#settled = new Set();
        return;
      case 'look':
        this.look(event);
        return;
      default:
        this.#change(event.kind, event.pod);
    }
  }

  /** Plans with what the controller sees, and carries out the first `writes` actions. Returns all planned actions. */
  look({
    stale = [],
    writes = Infinity,
    lost = false,
  }: Partial<Extract<JobEvent, { kind: 'look' }>> = {}): readonly Action[] {
    const age = (i: number) => (stale.length === 0 ? 0 : (stale[i % stale.length] ?? 0));
    const seenJob = this.#job.seen(age(0));
    const pods = this.#pods.flatMap((versions, i) => versions.seen(age(i + 1)) ?? []);
    const shown = new Set(pods.filter(hasFinalizer).map(({ metadata }) => metadata.uid));
    this.#settled = new Set([...this.#settled].filter((uid) => shown.has(uid)));
    const observed = { job: seenJob, pods, backoff: this.#backoff, settled: this.#settled };
    const { actions } = planJob(observed, this.now);
    let expected = seenJob;
    const done = actions.slice(0, writes);
    for (const action of done) {
      const isLost = lost && action === done.at(-1) && action.kind !== 'createPod';
      const stored = this.#carryOut(action, expected, isLost ? 'other' : 'controller');
      if (stored === 'conflict') break;
      expected = stored ?? expected;
    }
    this.mostActive = Math.max(this.mostActive, this.pods.filter(isActive).length);
    return actions;
  }

  /** Runs without faults until the Job has ended. */
  settle(): void {
    for (let round = 0; round < 200 && !isJobFinished(this.job); round++) {
      this.look();
      this.#pods.forEach((versions, i) => {
        const pod = versions.latest;
        if (pod?.metadata.deletionTimestamp !== undefined) this.#change('vanish', i);
        else if (pod !== undefined && isActive(pod)) this.#change('succeed', i);
      });
      this.now += 61_000;
    }
  }

  #carryOut(action: Action, expected: Job, by: 'controller' | 'other'): Job | 'conflict' | undefined {
    switch (action.kind) {
      case 'createPod': {
        const uid = `pod-${this.#pods.length}`;
        const metadata = { ...action.pod.metadata, name: uid, uid, creationTimestamp: formatTime(this.now) };
        this.#pods.push(
          new Versions<Pod | undefined>({ ...action.pod, metadata, status: podStatus({ is: 'pending' }, this.now) }),
        );
        this.counted += 1;
        return undefined;
      }
      case 'deletePod': {
        const versions = this.#find(action.pod);
        if (action.finalizer === 'remove' && versions?.latest !== undefined && hasFinalizer(versions.latest)) {
          this.counted -= 1;
          if (versions.latest.status?.phase === 'Succeeded') this.succeeded -= 1;
          this.#removeFinalizer(action.pod, by);
        }
        if (versions?.latest !== undefined) this.#delete(versions, by);
        return undefined;
      }
      case 'removeFinalizers':
        for (const pod of action.pods) this.#removeFinalizer(pod, by);
        return undefined;
      case 'updateStatus': {
        if (expected !== this.job) return 'conflict';
        this.#job.set({ ...this.job, status: action.status }, by);
        return this.job;
      }
      case 'remember':
        this.#backoff = action.backoff;
        return undefined;
      default:
        return undefined;
    }
  }

  #removeFinalizer(pod: Pod, by: 'controller' | 'other'): void {
    if (by === 'controller') this.#settled.add(pod.metadata.uid ?? '');
    const versions = this.#find(pod);
    const latest = versions?.latest;
    if (versions === undefined || latest === undefined) return;
    const finalizers = (latest.metadata.finalizers ?? []).filter((name) => name !== TRACKING_FINALIZER);
    versions.set({ ...latest, metadata: { ...latest.metadata, finalizers } }, by);
  }

  #change(kind: 'run' | 'succeed' | 'fail' | 'delete' | 'vanish', choice: number): void {
    const versions = this.#pods[choice % Math.max(1, this.#pods.length)];
    const pod = versions?.latest;
    if (versions === undefined || pod === undefined) return;
    if (kind === 'delete') this.#delete(versions, 'other');
    else if (kind === 'vanish') {
      if (pod.metadata.deletionTimestamp === undefined) return;
      if (!hasFinalizer(pod)) versions.set(undefined, 'other');
      else if (!hasEnded(pod)) this.#setStatus(versions, pod, 'failed');
    } else if (hasEnded(pod)) return;
    else if (kind === 'run') this.#setStatus(versions, pod, 'ready');
    else this.#setStatus(versions, pod, kind === 'succeed' ? 'succeeded' : 'failed');
  }

  #setStatus(versions: Versions<Pod | undefined>, pod: Pod, is: 'ready' | 'succeeded' | 'failed'): void {
    if (is === 'succeeded' && hasFinalizer(pod)) this.succeeded += 1;
    versions.set({ ...pod, status: podStatus({ is }, this.now) }, 'other');
  }

  #delete(versions: Versions<Pod | undefined>, by: 'controller' | 'other'): void {
    const pod = versions.latest;
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return;
    const isGone = hasEnded(pod) && !hasFinalizer(pod);
    const metadata = { ...pod.metadata, deletionTimestamp: formatTime(this.now) };
    versions.set(isGone ? undefined : { ...pod, metadata }, by);
  }

  #find({ metadata }: Pod): Versions<Pod | undefined> | undefined {
    return this.#pods.find(({ latest }) => latest !== undefined && latest.metadata.uid === metadata.uid);
  }
}
