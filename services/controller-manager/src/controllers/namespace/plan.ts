import { append, formatTime, type Instant, type Plan } from '@gantry/base';
import {
  equalJson,
  type KubeObject,
  type Namespace,
  type NamespaceCondition,
  TRACKING_FINALIZER,
} from '@gantry/objects';

/** The objects of one resource that a namespace still contains, read from the store. */
export interface Content {
  readonly group: string;
  readonly resource: string;
  readonly objects: readonly KubeObject[];
}

/** The input of the plan. */
export interface ObservedNamespace {
  readonly namespace: Namespace;
  readonly content: readonly Content[];
  /** Why some content could not be read. */
  readonly unread: readonly string[];
  /** Group versions whose discovery failed. */
  readonly undiscovered: readonly string[];
  /** Why some content could not be deleted in the previous round. */
  readonly failures: readonly string[];
}

export type Action =
  | { readonly kind: 'deleteContent'; readonly group: string; readonly resource: string; readonly object: KubeObject }
  | { readonly kind: 'updateStatus'; readonly status: NonNullable<Namespace['status']> }
  /** The namespace is empty and may be finalized. */
  | { readonly kind: 'finalize'; readonly finalizers: readonly string[] };

const LOOK_AGAIN_MS = 2000;

export const FINALIZER = 'kubernetes';

/**
 * Whether a pod must be deleted before everything else. Not a pod that has ended and only waits for its Job: a Job with a limit per index
 * keeps a failed pod until its successor is created, which a terminating namespace rejects, so only the deletion of the Job releases the
 * pod. In Kubernetes, such a namespace is never deleted.
 */
export function holdsOthers({ metadata }: KubeObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds, finalizers = [] } = metadata;
  const hasEnded = deletionTimestamp !== undefined && deletionGracePeriodSeconds === 0;
  return !hasEnded || finalizers.some((finalizer) => finalizer !== TRACKING_FINALIZER);
}

/**
 * Deletes the content of a namespace that is being deleted: pods first, because objects that they use or that restrict them must exist
 * while they run; then everything else. The status reports what remains.
 */
export function planNamespaceDeletion(observed: ObservedNamespace, now: Instant): Plan<Action> {
  const { namespace, content, unread, undiscovered } = observed;
  if (namespace.metadata.deletionTimestamp === undefined) return { actions: [] };
  const finalizers = namespace.spec?.finalizers ?? [];
  // A namespace with only foreign finalizers is still emptied.
  if (finalizers.length === 0) return { actions: [] };
  const pods = content.filter(
    ({ group, resource, objects }) => group === '' && resource === 'pods' && objects.some(holdsOthers),
  );
  const actions: Action[] = [];
  for (const { group, resource, objects } of pods.length > 0 ? pods : content) {
    for (const object of objects) {
      if (object.metadata.deletionTimestamp === undefined)
        actions.push({ kind: 'deleteContent', group, resource, object });
    }
  }
  const remaining = content.filter(({ objects }) => objects.length > 0);
  if (remaining.length === 0 && unread.length === 0 && undiscovered.length === 0) return planEnd(namespace, now);
  // Only the rest after deleting everything is reported, because most objects are deleted at once.
  const failures = [...observed.failures, ...unread];
  if (actions.length === 0 || failures.length > 0) {
    // As in Kubernetes, the rest is counted once the pods are gone.
    const counted = pods.length > 0 ? [] : remaining;
    append(actions, planStatus(namespace, verdicts(counted, failures, undiscovered), now));
  }
  // A create at another apiserver may have been in progress when the deletion began; it causes no event here.
  return { actions, requeueAt: now + LOOK_AGAIN_MS };
}

/** Finalizes an empty namespace. If foreign finalizers hold it, first reports that none of its content does. */
function planEnd(namespace: Namespace, now: Instant): Plan<Action> {
  const finalizers = namespace.spec?.finalizers ?? [];
  const kept = finalizers.filter((finalizer) => finalizer !== FINALIZER);
  if (kept.length > 0 || (namespace.metadata.finalizers ?? []).length > 0) {
    const actions = planStatus(namespace, verdicts([], [], []), now);
    if (actions.length > 0) return { actions, requeueAt: now };
  }
  return { actions: kept.length === finalizers.length ? [] : [{ kind: 'finalize', finalizers: kept }] };
}

function planStatus(namespace: Namespace, reported: readonly Verdict[], now: Instant): readonly Action[] {
  const status = { ...namespace.status, phase: 'Terminating', conditions: conditionsOf(namespace, reported, now) };
  return equalJson(status, namespace.status) ? [] : [{ kind: 'updateStatus', status }];
}

interface Verdict {
  readonly type: string;
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
}

function conditionsOf(namespace: Namespace, reported: readonly Verdict[], now: Instant): NamespaceCondition[] {
  const before = namespace.status?.conditions ?? [];
  const own = reported.map((verdict) => {
    const old = before.find(({ type }) => type === verdict.type);
    const isSame = old !== undefined && old.status === verdict.status;
    return { ...verdict, lastTransitionTime: isSame ? (old.lastTransitionTime ?? formatTime(now)) : formatTime(now) };
  });
  return [
    ...before.map((condition) => own.find(({ type }) => type === condition.type) ?? condition),
    ...own.filter(({ type }) => !before.some((condition) => condition.type === type)),
  ];
}

function verdicts(
  remaining: readonly Content[],
  failures: readonly string[],
  undiscovered: readonly string[],
): readonly Verdict[] {
  return [
    discoveryVerdict(undiscovered),
    {
      type: 'NamespaceDeletionGroupVersionParsingFailure',
      status: 'False',
      reason: 'ParsedGroupVersions',
      message: 'All legacy kube types successfully parsed',
    },
    failures.length > 0
      ? {
          type: 'NamespaceDeletionContentFailure',
          status: 'True',
          reason: 'ContentDeletionFailed',
          message: `Failed to delete all resource types, ${failures.length} remaining: ${[...failures].sort().join(', ')}`,
        }
      : {
          type: 'NamespaceDeletionContentFailure',
          status: 'False',
          reason: 'ContentDeleted',
          message: 'All content successfully deleted, may be waiting on finalization',
        },
    remaining.length > 0
      ? {
          type: 'NamespaceContentRemaining',
          status: 'True',
          reason: 'SomeResourcesRemain',
          message: `Some resources are remaining: ${describeResources(remaining)}`,
        }
      : {
          type: 'NamespaceContentRemaining',
          status: 'False',
          reason: 'ContentRemoved',
          message: 'All content successfully removed',
        },
    finalizerVerdict(remaining),
  ];
}

/** The condition about discovery, worded like Kubernetes' client library, which gives no other reason. */
function discoveryVerdict(undiscovered: readonly string[]): Verdict {
  const type = 'NamespaceDeletionDiscoveryFailure';
  if (undiscovered.length === 0) {
    const message = 'All resources successfully discovered';
    return { type, status: 'False', reason: 'ResourcesDiscovered', message };
  }
  const each = undiscovered.map((version) => `${version}: stale GroupVersion discovery: ${version}`).sort();
  const message = `Discovery failed for some groups, ${each.length} failing: unable to retrieve the complete list of server APIs: ${each.join(', ')}`;
  return { type, status: 'True', reason: 'DiscoveryFailed', message };
}

function describeResources(remaining: readonly Content[]): string {
  return remaining
    .map(({ group, resource, objects }) => `${resource}.${group} has ${objects.length} resource instances`)
    .sort()
    .join(', ');
}

function finalizerVerdict(remaining: readonly Content[]): Verdict {
  const counts = new Map<string, number>();
  for (const { objects } of remaining) {
    for (const { metadata } of objects) {
      for (const finalizer of metadata.finalizers ?? []) counts.set(finalizer, (counts.get(finalizer) ?? 0) + 1);
    }
  }
  const type = 'NamespaceFinalizersRemaining';
  if (counts.size === 0) {
    return {
      type,
      status: 'False',
      reason: 'ContentHasNoFinalizers',
      message: 'All content-preserving finalizers finished',
    };
  }
  const list = [...counts].map(([finalizer, count]) => `${finalizer} in ${count} resource instances`).sort();
  const message = `Some content in the namespace has finalizers remaining: ${list.join(', ')}`;
  return { type, status: 'True', reason: 'SomeFinalizersRemain', message };
}
