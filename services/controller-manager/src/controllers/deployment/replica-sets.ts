import {
  cloneJson,
  type Deployment,
  equalJson,
  type PodTemplateSpec,
  type ReplicaSet,
  resolveIntOrPercent,
} from '@gantry/objects';
import { controllerOf, controllerReference } from '../ownership.ts';
import { shortHash } from '../template-hash.ts';
import { newSetAnnotations, sizeAnnotations } from './annotations.ts';

export const TEMPLATE_HASH = 'pod-template-hash';

/** How far a rolling update may go above and below the desired count, in pods. */
export interface RollingBounds {
  readonly maxSurge: number;
  readonly maxUnavailable: number;
}

/** The Deployment's bounds: surge rounded up, unavailability down, and one pod where both come to nothing. Recreate has neither. */
export function rollingBounds(deployment: Deployment): RollingBounds {
  const strategy = deployment.spec?.strategy;
  if (strategy?.type === 'Recreate') return { maxSurge: 0, maxUnavailable: 0 };
  const desired = desiredReplicas(deployment);
  const maxSurge = resolveIntOrPercent(strategy?.rollingUpdate?.maxSurge ?? '25%', desired, 'up');
  const maxUnavailable = resolveIntOrPercent(strategy?.rollingUpdate?.maxUnavailable ?? '25%', desired, 'down');
  return { maxSurge, maxUnavailable: maxSurge === 0 && maxUnavailable === 0 ? 1 : Math.min(maxUnavailable, desired) };
}

export function desiredReplicas(object: Deployment | ReplicaSet): number {
  return object.spec?.replicas ?? 1;
}

export function sum(sets: readonly ReplicaSet[], count: (set: ReplicaSet) => number | undefined): number {
  return sets.reduce((total, set) => total + (count(set) ?? 0), 0);
}

/** Oldest first; by name where the second is the same. */
export function byAge(a: ReplicaSet, b: ReplicaSet): number {
  const left = a.metadata.creationTimestamp ?? '';
  const right = b.metadata.creationTimestamp ?? '';
  return left < right ? -1 : left > right ? 1 : (a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1;
}

/** The set that runs the Deployment's present template; the oldest where several do. */
export function findNewSet(deployment: Deployment, sets: readonly ReplicaSet[]): ReplicaSet | undefined {
  const template = withoutHash(deployment.spec?.template ?? {});
  return [...sets].sort(byAge).find((set) => equalJson(withoutHash(set.spec?.template ?? {}), template));
}

/** Whether a set belongs to the Deployment and runs its present template. */
export function runsTemplateOf(deployment: Deployment, set: ReplicaSet): boolean {
  return controllerOf(set)?.uid === deployment.metadata.uid && findNewSet(deployment, [set]) !== undefined;
}

function withoutHash(template: PodTemplateSpec): PodTemplateSpec {
  const copy = cloneJson(template);
  if (copy.metadata?.labels !== undefined) {
    delete copy.metadata.labels[TEMPLATE_HASH];
    if (Object.keys(copy.metadata.labels).length === 0) delete copy.metadata.labels;
  }
  if (copy.metadata !== undefined && Object.keys(copy.metadata).length === 0) delete copy.metadata;
  return copy;
}

/** A short hash of the template and the Deployment's collision count, safe in names and labels. */
export function templateHash(deployment: Deployment): string {
  return shortHash(withoutHash(deployment.spec?.template ?? {}), deployment.status?.collisionCount);
}

/** The set that would run the Deployment's template, sized so that `existing` and it stay within the surge. */
export function newReplicaSet(deployment: Deployment, existing: readonly ReplicaSet[], revision: number): ReplicaSet {
  const hash = templateHash(deployment);
  const spec = deployment.spec;
  const template = cloneJson(spec?.template ?? {});
  template.metadata = { ...template.metadata, labels: { ...template.metadata?.labels, [TEMPLATE_HASH]: hash } };
  const { maxSurge } = rollingBounds(deployment);
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: `${deployment.metadata.name ?? ''}-${hash}`,
      ...(deployment.metadata.namespace === undefined ? {} : { namespace: deployment.metadata.namespace }),
      labels: { ...template.metadata.labels },
      annotations: {
        ...newSetAnnotations(deployment, {}, revision),
        ...sizeAnnotations(desiredReplicas(deployment), maxSurge),
      },
      ownerReferences: [controllerReference(deployment)],
    },
    spec: {
      replicas: newSetReplicas(deployment, existing, 0),
      ...(spec?.minReadySeconds === undefined ? {} : { minReadySeconds: spec.minReadySeconds }),
      selector: {
        ...cloneJson(spec?.selector ?? {}),
        matchLabels: { ...spec?.selector.matchLabels, [TEMPLATE_HASH]: hash },
      },
      template,
    },
  };
}

/** How large the new set may be now: all of it when recreating, otherwise what the surge leaves free beside the other sets. */
export function newSetReplicas(deployment: Deployment, all: readonly ReplicaSet[], current: number): number {
  const desired = desiredReplicas(deployment);
  if (deployment.spec?.strategy?.type === 'Recreate') return desired;
  const room = desired + rollingBounds(deployment).maxSurge - sum(all, (set) => set.spec?.replicas);
  return room <= 0 ? current : current + Math.min(room, desired - current);
}
