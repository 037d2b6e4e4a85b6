import type { ResourceDefinition } from '@gantry/apimachinery';
import { FOREGROUND_FINALIZER, type KubeObject, type Namespace, ORPHAN_FINALIZER } from '@gantry/objects';
import { formatTime, type Instant } from '@gantry/base';
import type { DeleteOptions } from '../contract/registry.ts';
import { copyOf } from './metadata.ts';

/** The effect of a delete request on an object. */
export type DeletionPlan =
  /** The object is removed now. */
  | { readonly kind: 'remove' }
  /** The object is marked as being deleted. With `then: 'remove'` it is removed right after that. */
  | { readonly kind: 'mark'; readonly object: KubeObject; readonly then: 'keep' | 'remove' }
  /** The object is already being deleted, and nothing changes. */
  | { readonly kind: 'pending' };

/** Plans the effect of a delete request. Pure. */
export function planDeletion(
  stored: KubeObject,
  definition: ResourceDefinition,
  options: DeleteOptions,
  now: Instant,
): DeletionPlan {
  if (isNamespace(definition)) return planNamespaceDeletion(stored, definition, options, now);
  const { markForDeletion } = definition.strategy;
  if (markForDeletion !== undefined && stored.metadata.deletionTimestamp === undefined) {
    const object = copyOf(stored);
    object.metadata.deletionTimestamp = formatTime(now);
    markForDeletion(object, now);
    return { kind: 'mark', object, then: 'keep' };
  }
  return planObjectDeletion(stored, definition, options, now);
}

function planNamespaceDeletion(
  stored: Namespace,
  definition: ResourceDefinition,
  options: DeleteOptions,
  now: Instant,
): DeletionPlan {
  if (stored.metadata.deletionTimestamp === undefined) {
    const object = copyOf(stored) as Namespace;
    object.metadata.deletionTimestamp = formatTime(now);
    object.status = { ...object.status, phase: 'Terminating' };
    setGarbageFinalizers(object, definition, options);
    return { kind: 'mark', object, then: 'keep' };
  }
  if ((stored.spec?.finalizers ?? []).length > 0) return { kind: 'pending' };
  return planObjectDeletion(stored, definition, options, now);
}

function planObjectDeletion(
  stored: KubeObject,
  definition: ResourceDefinition,
  options: DeleteOptions,
  now: Instant,
): DeletionPlan {
  const object = copyOf(stored);
  const grace = applyGracePeriod(object, definition, options, now);
  if (grace === 'pending') return { kind: 'pending' };
  setGarbageFinalizers(object, definition, options);
  const hasFinalizers = (object.metadata.finalizers ?? []).length > 0;
  if (grace === 'graceful') {
    const keep = hasFinalizers || (object.metadata.deletionGracePeriodSeconds ?? 0) > 0;
    return { kind: 'mark', object, then: keep ? 'keep' : 'remove' };
  }
  if (!hasFinalizers) return { kind: 'remove' };
  markAsDeleting(object, now);
  return { kind: 'mark', object, then: 'keep' };
}

/** Sets deletion time and grace period of kinds with graceful deletion. A running grace period can only be shortened. */
function applyGracePeriod(
  object: KubeObject,
  definition: ResourceDefinition,
  options: DeleteOptions,
  now: Instant,
): 'immediate' | 'graceful' | 'pending' {
  const { gracePeriodSeconds } = definition.strategy;
  if (gracePeriodSeconds === undefined) return 'immediate';
  const { metadata } = object;
  const requested = clampGrace(options.gracePeriodSeconds);
  if (metadata.deletionTimestamp !== undefined) {
    const running = metadata.deletionGracePeriodSeconds;
    if (running === undefined) return 'immediate';
    // The object is marked, without remaining time and without finalizers. The removal after the mark had a conflict and must be repeated.
    if (running === 0 && (metadata.finalizers ?? []).length === 0) return 'immediate';
    if (requested === undefined || requested >= running) return 'pending';
    const end = Date.parse(metadata.deletionTimestamp) - running * 1000 + requested * 1000;
    metadata.deletionTimestamp = formatTime(Math.max(end, now));
    // If the new period has passed already, it becomes one second: the component that ends the object still has to confirm its end.
    metadata.deletionGracePeriodSeconds = end < now && requested > 0 ? 1 : requested;
    return 'graceful';
  }
  const period = gracePeriodSeconds(object, requested);
  metadata.deletionTimestamp = formatTime(now + period * 1000);
  metadata.deletionGracePeriodSeconds = period;
  bumpGeneration(object);
  return 'graceful';
}

/** A negative grace period means one second. */
function clampGrace(seconds: number | undefined): number | undefined {
  return seconds !== undefined && seconds < 0 ? 1 : seconds;
}

function markAsDeleting(object: KubeObject, now: Instant): void {
  const { metadata } = object;
  if (metadata.deletionTimestamp === undefined) bumpGeneration(object);
  if (metadata.deletionTimestamp === undefined || Date.parse(metadata.deletionTimestamp) > now) {
    metadata.deletionTimestamp = formatTime(now);
  }
  metadata.deletionGracePeriodSeconds = 0;
}

function bumpGeneration(object: KubeObject): void {
  const { generation } = object.metadata;
  if (generation !== undefined && generation > 0) object.metadata.generation = generation + 1;
}

function setGarbageFinalizers(object: KubeObject, definition: ResourceDefinition, options: DeleteOptions): void {
  const present = object.metadata.finalizers ?? [];
  const known = new Set(present);
  const kept = present.filter((finalizer) => finalizer !== ORPHAN_FINALIZER && finalizer !== FOREGROUND_FINALIZER);
  const wanted = garbageFinalizer(present, definition, options);
  const finalizers = wanted === undefined ? kept : [...kept, wanted];
  if (finalizers.length === 0) delete object.metadata.finalizers;
  else if (finalizers.length !== present.length || finalizers.some((one) => !known.has(one))) {
    object.metadata.finalizers = finalizers;
  }
}

/** The finalizer for dependents. The request takes precedence, then the finalizers of an earlier request, then the default of the kind. */
function garbageFinalizer(
  present: readonly string[],
  definition: ResourceDefinition,
  options: DeleteOptions,
): string | undefined {
  if (definition.strategy.defaultPropagation === 'unsupported') return undefined;
  if (options.orphanDependents !== undefined) return options.orphanDependents ? ORPHAN_FINALIZER : undefined;
  switch (options.propagationPolicy) {
    case 'Orphan':
      return ORPHAN_FINALIZER;
    case 'Foreground':
      return FOREGROUND_FINALIZER;
    case 'Background':
      return undefined;
    case undefined:
      break;
  }
  const earlier = [ORPHAN_FINALIZER, FOREGROUND_FINALIZER].find((finalizer) => present.includes(finalizer));
  return earlier ?? (definition.strategy.defaultPropagation === 'orphan' ? ORPHAN_FINALIZER : undefined);
}

/** Whether an update removes the last finalizer of an object that is being deleted. The object is then removed instead of stored. */
export function endsDeletion(object: KubeObject, old: KubeObject, definition: ResourceDefinition): boolean {
  const { metadata } = object;
  if (metadata.deletionTimestamp === undefined) return false;
  if ((metadata.finalizers ?? []).length > 0 || (metadata.deletionGracePeriodSeconds ?? 0) > 0) return false;
  if (!isNamespace(definition)) return (old.metadata.finalizers ?? []).length > 0;
  const before = finalizersOf(old);
  return finalizersOf(object) === 0 && before > 0;
}

function finalizersOf(namespace: Namespace): number {
  return (namespace.spec?.finalizers ?? []).length + (namespace.metadata.finalizers ?? []).length;
}

function isNamespace(definition: ResourceDefinition): boolean {
  return definition.group === '' && definition.resource === 'namespaces';
}
