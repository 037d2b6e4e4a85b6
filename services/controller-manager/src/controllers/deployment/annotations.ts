import type { Deployment, ReplicaSet } from '@gantry/objects';

/** Annotations by which `kubectl rollout` and the controller know revisions and sizes (Kubernetes' names). */
export const REVISION = 'deployment.kubernetes.io/revision';
export const REVISION_HISTORY = 'deployment.kubernetes.io/revision-history';
export const DESIRED_REPLICAS = 'deployment.kubernetes.io/desired-replicas';
export const MAX_REPLICAS = 'deployment.kubernetes.io/max-replicas';

/** Annotations of a Deployment that are its own and not copied to its ReplicaSets. */
const NOT_COPIED = new Set([
  'kubectl.kubernetes.io/last-applied-configuration',
  REVISION,
  REVISION_HISTORY,
  DESIRED_REPLICAS,
  MAX_REPLICAS,
  'deprecated.deployment.rollback.revision',
]);

type Annotations = Record<string, string>;

/** The rollout revision of a set or Deployment; 0 when it has none. */
export function rolloutRevision(object: ReplicaSet | Deployment): number {
  const revision = Number.parseInt(object.metadata.annotations?.[REVISION] ?? '', 10);
  return Number.isNaN(revision) ? 0 : revision;
}

/** The annotations of the new set at `revision`: the Deployment's own copied over, an older revision kept in the history. */
export function newSetAnnotations(deployment: Deployment, current: Annotations, revision: number): Annotations {
  const out: Annotations = { ...current };
  for (const [key, value] of Object.entries(deployment.metadata.annotations ?? {})) {
    if (!NOT_COPIED.has(key)) out[key] = value;
  }
  const old = current[REVISION];
  if (old !== undefined && Number.parseInt(old, 10) >= revision) return out;
  out[REVISION] = String(revision);
  if (old !== undefined) {
    const history = current[REVISION_HISTORY] ?? '';
    out[REVISION_HISTORY] = history === '' ? old : `${history},${old}`;
  }
  return out;
}

/** The annotations that record which size a set was given its replicas for. */
export function sizeAnnotations(desired: number, maxSurge: number): Annotations {
  return { [DESIRED_REPLICAS]: String(desired), [MAX_REPLICAS]: String(desired + maxSurge) };
}

/** Whether a set's size annotations differ from these. */
export function sizeAnnotationsDiffer(replicaSet: ReplicaSet, desired: number, maxSurge: number): boolean {
  return Object.entries(sizeAnnotations(desired, maxSurge)).some(
    ([key, value]) => replicaSet.metadata.annotations?.[key] !== value,
  );
}
