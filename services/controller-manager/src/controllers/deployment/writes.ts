import { cloneJson, type Deployment, equalJson, type ReplicaSet } from '@gantry/objects';
import type { Instant } from '@gantry/base';
import { REVISION, sizeAnnotations } from './annotations.ts';
import { setCondition } from './conditions.ts';
import type { Action } from './plan.ts';
import { hasProgressDeadline } from './progress.ts';
import { desiredReplicas, rollingBounds } from './replica-sets.ts';

type ActionOf<K extends Action['kind']> = Extract<Action, { kind: K }>;

/** The new set with the annotations and `minReadySeconds` of its Deployment. */
export function annotatedSet({ set, annotations, minReadySeconds }: ActionOf<'annotateSet'>): ReplicaSet {
  const object = cloneJson(set);
  object.metadata.annotations = { ...annotations };
  if (object.spec !== undefined) object.spec.minReadySeconds = minReadySeconds;
  return object;
}

/** The set with its new size and size annotations; undefined if both are set already. */
export function resizedSet({ set, replicas }: ActionOf<'resizeSet'>, deployment: Deployment): ReplicaSet | undefined {
  const object = cloneJson(set);
  if (object.spec !== undefined) object.spec.replicas = replicas;
  const size = sizeAnnotations(desiredReplicas(deployment), rollingBounds(deployment).maxSurge);
  object.metadata.annotations = { ...object.metadata.annotations, ...size };
  return equalJson(object, set) ? undefined : object;
}

export function deploymentWithStatus(
  deployment: Deployment,
  { status, revision }: ActionOf<'updateStatus'>,
): Deployment {
  const object = cloneJson(deployment);
  object.status = status;
  if (revision !== undefined) object.metadata.annotations = { ...object.metadata.annotations, [REVISION]: revision };
  return object;
}

/** The Deployment after a hash collision: its next set gets another name. */
export function collidedDeployment(deployment: Deployment): Deployment {
  const collisionCount = (deployment.status?.collisionCount ?? 0) + 1;
  return { ...deployment, status: { ...deployment.status, collisionCount } };
}

/** The Deployment after the creation of its new set failed; undefined if it has no deadline, or if its status contains this already. */
export function failedDeployment(deployment: Deployment, message: string, now: Instant): Deployment | undefined {
  if (!hasProgressDeadline(deployment)) return undefined;
  const failure = { type: 'Progressing', status: 'False', reason: 'ReplicaSetCreateError', message } as const;
  const conditions = setCondition(deployment.status?.conditions ?? [], failure, now);
  return equalJson(conditions, deployment.status?.conditions)
    ? undefined
    : { ...deployment, status: { ...deployment.status, conditions } };
}
