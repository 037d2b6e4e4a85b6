import {
  cloneJson,
  controllerOf,
  controllerReference,
  type Deployment,
  equalJson,
  type PodTemplateSpec,
  type ReplicaSet,
  resolveIntOrPercent,
} from '@gantry/objects';
import { shortHash } from '../../libraries/revisions/revision.ts';
import { newSetAnnotations, sizeAnnotations } from './annotations.ts';

export const TEMPLATE_HASH = 'pod-template-hash';
const MAX_NAME_LENGTH = 253;

/** The maximum number of pods above and below the desired count in a rolling update. */
export interface RollingBounds {
  readonly maxSurge: number;
  readonly maxUnavailable: number;
}

/**
 * The Deployment's limits: surge is rounded up, unavailability down; if both are zero, one pod may be unavailable. Both are zero for
 * Recreate; with zero pods, none can be unavailable.
 */
export function rollingBounds(deployment: Deployment): RollingBounds {
  const strategy = deployment.spec?.strategy;
  if (strategy?.type === 'Recreate') return { maxSurge: 0, maxUnavailable: 0 };
  const desired = desiredReplicas(deployment);
  const maxSurge = resolveIntOrPercent(strategy?.rollingUpdate?.maxSurge ?? '25%', desired, 'up');
  const maxUnavailable = resolveIntOrPercent(strategy?.rollingUpdate?.maxUnavailable ?? '25%', desired, 'down');
  return { maxSurge, maxUnavailable: Math.min(maxSurge === 0 && maxUnavailable === 0 ? 1 : maxUnavailable, desired) };
}

export function desiredReplicas(object: Deployment | ReplicaSet): number {
  return object.spec?.replicas ?? 1;
}

export function sum(sets: readonly ReplicaSet[], count: (set: ReplicaSet) => number | undefined): number {
  return sets.reduce((total, set) => total + (count(set) ?? 0), 0);
}

/** Oldest first; by name if created in the same second. */
export function byAge(a: ReplicaSet, b: ReplicaSet): number {
  const left = a.metadata.creationTimestamp ?? '';
  const right = b.metadata.creationTimestamp ?? '';
  return left < right ? -1 : left > right ? 1 : (a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1;
}

/** The set with the Deployment's current template; the oldest if there are several. */
export function findNewSet(deployment: Deployment, sets: readonly ReplicaSet[]): ReplicaSet | undefined {
  return [...sets].sort(byAge).find((set) => runsSameTemplate(deployment, set));
}

/** Whether a set belongs to the Deployment and has its current template. */
export function runsTemplateOf(deployment: Deployment, set: ReplicaSet): boolean {
  return controllerOf(set)?.uid === deployment.metadata.uid && runsSameTemplate(deployment, set);
}

/** Whether the templates are equal except for the hash label. */
export function runsSameTemplate(deployment: Deployment, set: ReplicaSet): boolean {
  const ours = deployment.spec?.template ?? {};
  const theirs = set.spec?.template ?? {};
  return equalJson(ours.spec, theirs.spec) && equalJson(metadataWithoutHash(ours), metadataWithoutHash(theirs));
}

function metadataWithoutHash({ metadata = {} }: PodTemplateSpec): NonNullable<PodTemplateSpec['metadata']> {
  const { labels: all = {}, ...rest } = metadata;
  const { [TEMPLATE_HASH]: _hash, ...labels } = all;
  return Object.keys(labels).length === 0 ? rest : { ...rest, labels };
}

function withoutHash(template: PodTemplateSpec): PodTemplateSpec {
  const { metadata: _metadata, ...rest } = template;
  const metadata = metadataWithoutHash(template);
  return Object.keys(metadata).length === 0 ? rest : { ...rest, metadata };
}

/** A short hash of the template and the Deployment's collision count, safe in names and labels. */
export function templateHash(deployment: Deployment): string {
  return shortHash(withoutHash(deployment.spec?.template ?? {}), deployment.status?.collisionCount);
}

/** A new set for the Deployment's template, sized so that it and the `existing` sets stay within the surge. */
export function newReplicaSet(deployment: Deployment, existing: readonly ReplicaSet[], revision: bigint): ReplicaSet {
  const hash = templateHash(deployment);
  const spec = deployment.spec;
  const template = cloneJson(spec?.template ?? {});
  template.metadata = { ...template.metadata, labels: { ...template.metadata?.labels, [TEMPLATE_HASH]: hash } };
  const { maxSurge } = rollingBounds(deployment);
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: replicaSetName(deployment.metadata.name ?? '', hash),
      namespace: deployment.metadata.namespace,
      labels: { ...template.metadata.labels },
      annotations: {
        ...newSetAnnotations(deployment, {}, revision),
        ...sizeAnnotations(desiredReplicas(deployment), maxSurge),
      },
      ownerReferences: [controllerReference(deployment)],
    },
    spec: {
      replicas: newSetReplicas(deployment, existing, 0),
      minReadySeconds: spec?.minReadySeconds,
      selector: {
        ...cloneJson(spec?.selector ?? {}),
        matchLabels: { ...spec?.selector.matchLabels, [TEMPLATE_HASH]: hash },
      },
      template,
    },
  };
}

/** The Deployment's name plus the hash, shortened to the maximum name length. */
export function replicaSetName(deploymentName: string, hash: string): string {
  return `${deploymentName.slice(0, MAX_NAME_LENGTH - 1 - hash.length)}-${hash}`;
}

/** The maximum size of the new set now: the desired size for Recreate, otherwise what the surge allows beside the other sets. */
export function newSetReplicas(deployment: Deployment, all: readonly ReplicaSet[], current: number): number {
  const desired = desiredReplicas(deployment);
  if (deployment.spec?.strategy?.type === 'Recreate') return desired;
  const room = desired + rollingBounds(deployment).maxSurge - sum(all, (set) => set.spec?.replicas);
  return room <= 0 ? current : current + Math.min(room, desired - current);
}
