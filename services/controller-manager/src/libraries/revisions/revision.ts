import { safeEncode } from '@gantry/base';
import {
  cloneJson,
  controllerReference,
  type ControllerRevision,
  equalJson,
  type KubeObject,
  memberOf,
  type PodTemplateSpec,
} from '@gantry/objects';

/**
 * A short hash of JSON, safe in names and labels, independent of the order of keys. After a name collision, another `collisionCount` gives
 * another hash of the same value.
 */
export function shortHash(value: unknown, collisionCount?: number): string {
  let hash = 0x811c9dc5; // FNV-1a, 32 bits
  for (const byte of new TextEncoder().encode(canonicalJson(value) + String(collisionCount ?? ''))) {
    hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  }
  return safeEncode(String(hash).padStart(10, '0'));
}

function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const entries = Object.entries(value).filter(([, v]) => v !== undefined);
  return `{${entries
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([k, v]) => `${JSON.stringify(k)}:${canonicalJson(v)}`)
    .join(',')}}`;
}

/** The position of the current template in the history. */
interface PresentRevision {
  /** The newest revision with the template; undefined if it must be created. */
  readonly revision: ControllerRevision | undefined;
  /** Its number, current or required: a template that returns becomes the newest again. */
  readonly number: number;
  /** Other revisions with the same template. */
  readonly duplicates: readonly ControllerRevision[];
  /** Revisions of other templates, oldest first. */
  readonly others: readonly ControllerRevision[];
}

/** Finds the current template in the history. `isPresent` returns whether a revision has that template. */
export function findPresent(
  revisions: readonly ControllerRevision[],
  isPresent: (revision: ControllerRevision) => boolean,
): PresentRevision {
  const sorted = sortRevisions(revisions);
  const equal = sorted.filter(isPresent);
  const others = sorted.filter((revision) => !equal.includes(revision));
  const revision = equal.at(-1);
  const number = Math.max((others.at(-1)?.revision ?? 0) + 1, revision?.revision ?? 0);
  return { revision, number, duplicates: equal.slice(0, -1), others };
}

/** Limits of the history. */
interface HistoryBounds {
  /** `spec.revisionHistoryLimit`; below zero all are kept. */
  readonly limit: number;
  /** Whether a revision is live: one that a pod or the status uses is never deleted. */
  readonly isLive: (revision: ControllerRevision) => boolean;
  /** Whether live revisions count toward the limit: a DaemonSet's do, a StatefulSet's do not. */
  readonly counted: 'all' | 'not live';
}

/** The revisions to delete, oldest first. */
export function excessRevisions(
  revisions: readonly ControllerRevision[],
  { limit, isLive, counted }: HistoryBounds,
): readonly ControllerRevision[] {
  if (limit < 0) return [];
  const unused = sortRevisions(revisions).filter((revision) => !isLive(revision));
  const count = counted === 'all' ? revisions.length : unused.length;
  return unused.slice(0, Math.max(0, count - limit));
}

/** The label of a StatefulSet's revision with the hash in its name. */
export const STATEFUL_SET_HASH = 'controller.kubernetes.io/hash';

/** That label, or that of DaemonSets, which their pods have too. */
type HashLabel = typeof STATEFUL_SET_HASH | 'controller-revision-hash';

/** Input of a new revision. */
interface RevisionInput {
  /** Becomes the controller; its annotations are copied. */
  readonly owner: KubeObject;
  readonly template: PodTemplateSpec;
  readonly number: number;
  /** The owner's `status.collisionCount`: how often another template had the same name. */
  readonly collisionCount: number | undefined;
  readonly hashLabel: HashLabel;
}

/** Longer name prefixes are cut, as in Kubernetes: with a dash and a ten-character hash the name stays below 253. */
const MAX_PREFIX = 223;

/**
 * The `data` of a revision: a strategic merge patch of a StatefulSet or a DaemonSet that restores the template. Members are sorted by name:
 * `kubectl rollout undo` and Kubernetes' own tests compare the bytes with Go's encoding.
 */
export function templatePatch(template: PodTemplateSpec): Record<string, unknown> {
  return { spec: { template: withSortedMembers({ ...template, $patch: 'replace' }) } };
}

function withSortedMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withSortedMembers);
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).filter(([, member]) => member !== undefined);
  const sorted = entries.toSorted(([one], [other]) => compare(one, other));
  return Object.fromEntries(sorted.map(([name, member]) => [name, withSortedMembers(member)]));
}

/** The template that a revision restores; undefined if its data has none. Inverse of `templatePatch`. */
export function templateOf({ data }: ControllerRevision): PodTemplateSpec | undefined {
  const template = objectAt(objectAt(data, 'spec'), 'template');
  if (template === undefined) return undefined;
  const { $patch: _, ...rest } = cloneJson(template);
  return rest;
}

/** Whether a revision restores exactly this template. */
export function isRevisionOf(revision: ControllerRevision, template: PodTemplateSpec): boolean {
  return equalJson(revision.data, { spec: { template: { ...template, $patch: 'replace' } } });
}

/** A revision of the template, named by the owner and the hash of both. */
export function newRevision(input: RevisionInput): ControllerRevision {
  const { owner, template, number, collisionCount, hashLabel } = input;
  const data = templatePatch(template);
  const hash = shortHash(data, collisionCount);
  const { name = '', namespace = '', annotations } = owner.metadata;
  return {
    apiVersion: 'apps/v1',
    kind: 'ControllerRevision',
    metadata: {
      name: `${name.slice(0, MAX_PREFIX)}-${hash}`,
      namespace,
      labels: { ...template.metadata?.labels, [hashLabel]: hash },
      ...(annotations === undefined ? {} : { annotations: { ...annotations } }),
      ownerReferences: [controllerReference(owner)],
    },
    data,
    revision: number,
  };
}

/** Oldest first: by number, then by creation, then by name. */
export function sortRevisions(revisions: readonly ControllerRevision[]): ControllerRevision[] {
  return [...revisions].sort(
    (a, b) =>
      a.revision - b.revision ||
      compare(a.metadata.creationTimestamp ?? '', b.metadata.creationTimestamp ?? '') ||
      compare(a.metadata.name ?? '', b.metadata.name ?? ''),
  );
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function objectAt(value: unknown, key: string): Record<string, unknown> | undefined {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return undefined;
  const member = memberOf(value as Record<string, unknown>, key);
  return member !== null && typeof member === 'object' && !Array.isArray(member)
    ? (member as Record<string, unknown>)
    : undefined;
}
