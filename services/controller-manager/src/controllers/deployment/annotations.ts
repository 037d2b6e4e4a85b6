import { type Deployment, LAST_APPLIED_ANNOTATION, type ReplicaSet } from '@gantry/objects';

/** Annotations with revisions and sizes, used by `kubectl rollout` and the controller (Kubernetes' names). */
export const REVISION = 'deployment.kubernetes.io/revision';
export const REVISION_HISTORY = 'deployment.kubernetes.io/revision-history';
export const DESIRED_REPLICAS = 'deployment.kubernetes.io/desired-replicas';
export const MAX_REPLICAS = 'deployment.kubernetes.io/max-replicas';
/** The revision to roll back to, from clients of API versions before apps/v1; 0 for the previous one. */
export const ROLLBACK_TO = 'deprecated.deployment.rollback.to';

/** Annotations of a Deployment that are not copied to its ReplicaSets. */
const NOT_COPIED = new Set([
  LAST_APPLIED_ANNOTATION,
  REVISION,
  REVISION_HISTORY,
  DESIRED_REPLICAS,
  MAX_REPLICAS,
  ROLLBACK_TO,
]);

/** The maximum length of a set's revision history in characters; the oldest revisions are dropped. */
const MAX_HISTORY = 2000;
const MAX_INT32 = 2 ** 31 - 1;
const INT64_BITS = 64;

type Annotations = Record<string, string>;

/** A 64-bit integer in an annotation, parsed as in Kubernetes; undefined for other texts, because users write these annotations. */
export function wholeNumber(text: string | undefined): bigint | undefined {
  const [, sign = '', digits] = /^([+-]?)0*(\d{1,19})$/.exec(text ?? '') ?? [];
  if (digits === undefined) return undefined;
  const number = sign === '-' ? -BigInt(digits) : BigInt(digits);
  return BigInt.asIntN(INT64_BITS, number) === number ? number : undefined;
}

/** The rollout revision of a set or Deployment; 0 if it has none. */
export function rolloutRevision(object: ReplicaSet | Deployment): bigint {
  return wholeNumber(object.metadata.annotations?.[REVISION]) ?? 0n;
}

/** The number of pods in one of a set's size annotations; undefined if missing or invalid. */
export function annotatedSize(
  set: ReplicaSet,
  name: typeof DESIRED_REPLICAS | typeof MAX_REPLICAS,
): number | undefined {
  const text = set.metadata.annotations?.[name];
  const size = text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
  return size !== undefined && size <= MAX_INT32 ? size : undefined;
}

/** The revision that follows all of these. It wraps at 64 bits, as in Kubernetes. */
export function revisionAfter(sets: readonly ReplicaSet[]): bigint {
  const highest = sets.map(rolloutRevision).reduce((one, other) => (one > other ? one : other), 0n);
  return BigInt.asIntN(INT64_BITS, highest + 1n);
}

/** Orders by revision, lowest first. */
export function byRevision(one: ReplicaSet, other: ReplicaSet): number {
  const [first, second] = [rolloutRevision(one), rolloutRevision(other)];
  return first < second ? -1 : first > second ? 1 : 0;
}

/**
 * The annotations of the new set at `revision`: the Deployment's own are copied, and an older revision is added to the history. A set whose
 * revision is not a number keeps its annotations.
 */
export function newSetAnnotations(deployment: Deployment, current: Annotations, revision: bigint): Annotations {
  const old = current[REVISION];
  const oldRevision = old === undefined || old === '' ? 0n : wholeNumber(old);
  if (oldRevision === undefined) return current;
  const out: Annotations = { ...current, ...copiedAnnotations(deployment.metadata.annotations) };
  if (oldRevision >= revision) return out;
  out[REVISION] = String(revision);
  if (old !== undefined) out[REVISION_HISTORY] = longerHistory(current[REVISION_HISTORY] ?? '', old);
  return out;
}

/** A Deployment's annotations after a rollback to a set: those of the set, plus its own that are never copied. */
export function rolledBackAnnotations(deployment: Deployment, set: ReplicaSet): Annotations {
  const own = Object.entries(deployment.metadata.annotations ?? {}).filter(([name]) => NOT_COPIED.has(name));
  return { ...Object.fromEntries(own), ...copiedAnnotations(set.metadata.annotations) };
}

function copiedAnnotations(annotations: Annotations | undefined): Annotations {
  return Object.fromEntries(Object.entries(annotations ?? {}).filter(([name]) => !NOT_COPIED.has(name)));
}

function longerHistory(history: string, revision: string): string {
  if (history === '') return revision;
  const revisions = history.split(',');
  let length = history.length + 1 + revision.length;
  while (length > MAX_HISTORY && revisions.length > 0) length -= (revisions.shift()?.length ?? 0) + 1;
  return length > MAX_HISTORY ? history : [...revisions, revision].join(',');
}

/** The annotations that record the desired and the maximum size for which a set was sized. */
export function sizeAnnotations(desired: number, maxSurge: number): Annotations {
  return { [DESIRED_REPLICAS]: String(desired), [MAX_REPLICAS]: String(desired + maxSurge) };
}

/** Whether a set's size annotations differ from these. */
export function sizeAnnotationsDiffer(replicaSet: ReplicaSet, desired: number, maxSurge: number): boolean {
  return Object.entries(sizeAnnotations(desired, maxSurge)).some(
    ([key, value]) => replicaSet.metadata.annotations?.[key] !== value,
  );
}
