import { type Clock, errorMessage, type Instant } from '@gantry/base';
import { ignoreNotFound, ignoreReasons, type ObjectClient } from '@gantry/client';
import type { Activity } from '@gantry/controller-runtime/testing';
import {
  type Deployment,
  DEPLOYMENTS,
  type Job,
  JOBS,
  keyOf,
  type KubeObject,
  type Pod,
  PODS,
  type Resource,
} from '@gantry/objects';

/** What an actor does with an object next, unless the object changes before. `inMs` is a finite number; below 0 it is overdue, and done at once. */
export type Act =
  /** Merges these fields into the status. */
  { readonly inMs: number; readonly status: object } | { readonly inMs: number; readonly deletes: true };

/**
 * What another controller, or the kubelet, does with the objects of a resource. It is not affected by the faults of a simulation. `next` is pure;
 * it is called after each change of an object that is not being deleted. Undefined: nothing.
 */
export interface Actor {
  readonly resource: Resource;
  readonly next: (object: KubeObject, now: Instant) => Act | undefined;
}

/**
 * An actor for `simulate`.
 *
 * @example
 * ```ts
 * // Issues what the operator asks for, after five seconds.
 * const issuer = actor(CERTIFICATES, ({ status }) =>
 *   status?.issued === true ? undefined : { inMs: 5000, status: { issued: true } },
 * );
 * ```
 */
export function actor<T extends KubeObject>(
  resource: Resource<T>,
  next: (object: T, now: Instant) => Act | undefined,
): Actor {
  return { resource, next: (object, now) => next(object as T, now) };
}

/**
 * Does what the Job controller and the kubelets do: a Job that is not suspended starts at once, runs for `runMs` (30,000 when absent), and
 * succeeds, or fails if `fails` says so. A finished one is deleted after its `ttlSecondsAfterFinished`. There are no pods.
 */
export function runJobs(options: { readonly runMs?: number; readonly fails?: (job: Job) => boolean } = {}): Actor {
  const { runMs = 30_000, fails = () => false } = options;
  return actor(JOBS, (job, now) => {
    const { spec, status = {} } = job;
    const { completionTime, startTime, conditions = [] } = status;
    const finished = conditions.find(({ type, status: is }) => is === 'True' && /^(Complete|Failed)$/.test(type));
    if (finished !== undefined) {
      const ttl = spec?.ttlSecondsAfterFinished;
      const endedMs = Date.parse(completionTime ?? finished.lastTransitionTime ?? '');
      return ttl === undefined ? undefined : { inMs: endedMs + ttl * 1000 - now, deletes: true };
    }
    if (spec?.suspend === true) return undefined;
    if (startTime === undefined) {
      const begun = { startTime: secondOf(now), active: spec?.parallelism ?? 1, ready: 0, terminating: 0 };
      return { inMs: 0, status: { ...begun, uncountedTerminatedPods: {} } };
    }
    const endMs = Date.parse(startTime) + runMs;
    return { inMs: endMs - now, status: fails(job) ? failedStatus(job, endMs) : completeStatus(job, endMs) };
  });
}

function completeStatus({ spec }: Job, endMs: Instant): object {
  const reason = { reason: 'CompletionsReached', message: 'Reached expected number of succeeded pods' };
  const conditions = ['SuccessCriteriaMet', 'Complete'].map((type) => trueCondition(type, reason, endMs));
  return { completionTime: secondOf(endMs), active: 0, succeeded: spec?.completions ?? 1, conditions };
}

function failedStatus({ spec }: Job, endMs: Instant): object {
  const reason = { reason: 'BackoffLimitExceeded', message: 'Job has reached the specified backoff limit' };
  const conditions = ['FailureTarget', 'Failed'].map((type) => trueCondition(type, reason, endMs));
  return { active: 0, failed: (spec?.backoffLimit ?? 6) + 1, conditions };
}

/**
 * Does what the controllers of Deployments and the kubelets do to their status: the controller sees a change at once, and `readyMs` (5,000 when
 * absent) later all replicas are updated and available. There are no ReplicaSets and no pods.
 */
export function runDeployments({ readyMs = 5000 }: { readonly readyMs?: number } = {}): Actor {
  return actor(DEPLOYMENTS, ({ metadata, spec, status = {} }: Deployment, now) => {
    const { generation } = metadata;
    const replicas = spec?.replicas ?? 1;
    if (status.observedGeneration !== generation) {
      const seen = { observedGeneration: generation, updatedReplicas: 0, unavailableReplicas: replicas };
      return { inMs: 0, status: { ...seen, readyReplicas: 0, availableReplicas: 0, conditions: rollout(false, now) } };
    }
    if (status.conditions?.some(({ type, status: is }) => type === 'Available' && is === 'True') === true)
      return undefined;
    const counts = { replicas, updatedReplicas: replicas, readyReplicas: replicas, availableReplicas: replicas };
    return {
      inMs: readyMs,
      status: { ...counts, unavailableReplicas: null, conditions: rollout(true, now + readyMs) },
    };
  });
}

function rollout(isDone: boolean, at: Instant): readonly object[] {
  const [available, progress] = isDone
    ? ['MinimumReplicasAvailable', 'NewReplicaSetAvailable']
    : ['MinimumReplicasUnavailable', 'ReplicaSetUpdated'];
  const times = { lastUpdateTime: secondOf(at), lastTransitionTime: secondOf(at), message: '' };
  return [
    { type: 'Available', status: isDone ? 'True' : 'False', reason: available, ...times },
    { type: 'Progressing', status: 'True', reason: progress, ...times },
  ];
}

/** Does what the kubelets do: a pod runs, and all its containers are ready, `readyMs` (2,000 when absent) after its creation. No node is chosen. */
export function runPods({ readyMs = 2000 }: { readonly readyMs?: number } = {}): Actor {
  return actor(PODS, ({ spec, status }: Pod, now) => {
    if (status?.phase !== undefined && status.phase !== 'Pending') return undefined;
    const startedAt = secondOf(now + readyMs);
    const containerStatuses = (spec?.containers ?? []).map(({ name, image = '' }) => {
      const state = { running: { startedAt } };
      return { name, image, imageID: image, ready: true, started: true, restartCount: 0, state };
    });
    const conditions = ['Initialized', 'ContainersReady', 'Ready'].map((type) => {
      return { type, status: 'True', lastTransitionTime: startedAt };
    });
    return { inMs: readyMs, status: { phase: 'Running', startTime: startedAt, conditions, containerStatuses } };
  });
}

function trueCondition(type: string, reason: { readonly reason: string; readonly message: string }, at: Instant) {
  return { type, status: 'True', ...reason, lastProbeTime: secondOf(at), lastTransitionTime: secondOf(at) };
}

/** Times of Kubernetes have whole seconds. */
function secondOf(at: Instant): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`;
}

/** Lets actors act on the objects of one history. */
export class Stage {
  readonly #actors: readonly Actor[];
  readonly #clock: Clock;
  readonly #client: ObjectClient;
  readonly #activity: Activity;
  readonly #onError: (wrong: string) => void;

  /** `onError` is called with what is wrong with an actor: it throws, returns no time, or the server refuses its write. */
  constructor(options: {
    readonly actors: readonly Actor[];
    readonly clock: Clock;
    readonly client: ObjectClient;
    readonly activity: Activity;
    readonly onError: (wrong: string) => void;
  }) {
    this.#actors = options.actors;
    this.#clock = options.clock;
    this.#client = options.client;
    this.#activity = options.activity;
    this.#onError = options.onError;
  }

  /** Plans what is to be done with an object that has changed. */
  take(
    { group, resource }: { readonly group: string; readonly resource: string },
    object: KubeObject,
    signal: AbortSignal,
  ): void {
    if (object.metadata.deletionTimestamp !== undefined) return;
    for (const one of this.#actors) {
      if (one.resource.group !== group || one.resource.resource !== resource) continue;
      const act = this.#next(one, object);
      if (act === undefined) continue;
      this.#clock.setTimer(Math.max(0, act.inMs), () => {
        if (!signal.aborted) this.#do(one.resource, object, act, signal);
      });
    }
  }

  /** A timer without a finite time never ends, and neither does the history that waits for it. */
  #next({ resource, next }: Actor, object: KubeObject): Act | undefined {
    const { namespace, name } = keyOf(object);
    const what = `an actor of ${resource.resource}`;
    const at = `${namespace === '' ? '' : `${namespace}/`}${name}`;
    try {
      const act = next(object, this.#clock.now());
      if (act === undefined || Number.isFinite(act.inMs)) return act;
      this.#onError(`${what} returns inMs: ${String(act.inMs)} for ${at}, and not a finite number of milliseconds`);
    } catch (error) {
      this.#onError(`${what} throws for ${at}: ${errorMessage(error)}`);
    }
    return undefined;
  }

  /** An object that has changed since then has been taken again, so a write of the old plan is refused. */
  #do(resource: Resource, object: KubeObject, act: Act, signal: AbortSignal): void {
    const { uid, resourceVersion } = object.metadata;
    const write = () =>
      'deletes' in act
        ? this.#client.delete(
            resource,
            keyOf(object),
            { uid, resourceVersion, propagationPolicy: 'Background' },
            signal,
          )
        : this.#client.patch(
            resource,
            keyOf(object),
            { merge: { metadata: { uid, resourceVersion }, status: act.status }, subresource: 'status' },
            signal,
          );
    void this.#activity
      .of(() => ignoreReasons(ignoreNotFound(write()), ['Conflict']))
      .catch((error: unknown) => {
        if (!signal.aborted) this.#onError(`an actor's write is refused: ${errorMessage(error)}`);
      });
  }
}
