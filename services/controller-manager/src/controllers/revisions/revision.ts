import {
  cloneJson,
  type ControllerRevision,
  equalJson,
  type KubeObject,
  memberOf,
  type PodTemplateSpec,
} from '@gantry/objects';
import { controllerReference } from '../ownership.ts';
import { shortHash } from '../template-hash.ts';

/** The label of a StatefulSet's revision with the hash in its name. */
export const STATEFUL_SET_HASH = 'controller.kubernetes.io/hash';

/** That label, or the one of DaemonSets, whose pods have it too. */
export type HashLabel = typeof STATEFUL_SET_HASH | 'controller-revision-hash';

/** What a new revision is made from. */
export interface RevisionInput {
  /** Becomes the controller; its annotations are copied. */
  readonly owner: KubeObject;
  readonly template: PodTemplateSpec;
  readonly number: number;
  /** The owner's `status.collisionCount`: how often a name was taken by another template. */
  readonly collisionCount: number | undefined;
  readonly hashLabel: HashLabel;
}

/** Longer prefixes of names are cut, as in Kubernetes: a hash of ten characters and a dash stay below 253. */
const MAX_PREFIX = 223;

/**
 * The `data` of a revision: a strategic merge patch of a StatefulSet or a DaemonSet that brings the template back. Members are in the
 * order of their names: `kubectl rollout undo` and Kubernetes' own tests compare the bytes with what Go encodes.
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

/** The template that a revision brings back; undefined when its data has none. Inverse of `templatePatch`. */
export function templateOf({ data }: ControllerRevision): PodTemplateSpec | undefined {
  const template = objectAt(objectAt(data, 'spec'), 'template');
  if (template === undefined) return undefined;
  const { $patch: _, ...rest } = cloneJson(template);
  return rest;
}

/** Whether a revision brings back exactly this template. */
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
