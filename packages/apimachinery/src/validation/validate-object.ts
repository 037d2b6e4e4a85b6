import { atOnce, type Turn } from '@gantry/base';
import { givenEmptyAt } from '../values/given-empty.ts';
import { type FieldError, type KubeObject, pathSegment, subdomainName } from '@gantry/objects';
import type { Errors, ResourceDefinition, Strategy, SubresourceDefinition } from '../resource-definition.ts';
import { kubernetesFinalizers, validateObjectMeta, validateObjectMetaUpdate } from './object-meta.ts';

function metaRules({ namespaced, strategy }: ResourceDefinition) {
  return {
    namespaced,
    validateName: strategy.validateName ?? subdomainName,
    finalizers: strategy.finalizers ?? 'kubernetes',
  } as const;
}

/** All errors of a new object in Kubernetes' order. Call it after defaults and `prepareForCreate`. */
export function validateNew(definition: ResourceDefinition, object: KubeObject): readonly FieldError[] {
  return errorsOf(validateNewInTurns(definition, object));
}

/** The same, in turns where rules may take long. */
export function validateNewInTurns(definition: ResourceDefinition, object: KubeObject): Errors {
  const { validate, validateCreate } = definition.strategy;
  return afterBoth(validate?.(object) ?? [], validateCreate?.(object) ?? [], (whole, create) => {
    const metadata = definition.stored ? validateObjectMeta(object.metadata, metaRules(definition)) : [];
    return [...metadata, ...whole, ...create].map((error) => showingGiven(error, object));
  });
}

/** All errors, computed without a break. */
export function errorsOf(errors: Errors = []): readonly FieldError[] {
  return typeof errors === 'function' ? atOnce(errors) : errors;
}

/** Joins two lists of errors: at once if both are available, as for most kinds; otherwise in turns. */
function afterBoth(
  first: Errors,
  second: Errors,
  join: (first: readonly FieldError[], second: readonly FieldError[]) => readonly FieldError[],
): Errors {
  if (typeof first !== 'function' && typeof second !== 'function') return join(first, second);
  return function* (turn) {
    return join(yield* found(first, turn), yield* found(second, turn));
  };
}

/** The errors of either form. */
function* found(errors: Errors, turn: Turn): Generator<undefined, readonly FieldError[], undefined> {
  return typeof errors === 'function' ? yield* errors(turn) : errors;
}

/**
 * All errors of an update of the main resource in Kubernetes' order. Call it after defaults and `prepareForUpdate`. Invalid metadata is
 * reported as often as in Kubernetes.
 */
export function validateChange(
  definition: ResourceDefinition,
  object: KubeObject,
  old: KubeObject,
): readonly FieldError[] {
  return errorsOf(validateChangeInTurns(definition, object, old));
}

/** The same, in turns where rules may take long. */
export function validateChangeInTurns(definition: ResourceDefinition, object: KubeObject, old: KubeObject): Errors {
  const { validate, validateUpdate, updateRules, metadataOnUpdate = 'whole' } = definition.strategy;
  const [first, inner, second] = METADATA_ORDER[metadataOnUpdate];
  const looks: Record<MetadataLook, () => readonly FieldError[]> = {
    none: () => [],
    change: () => ownMetadataRules(definition, object, old),
    object: () => validateObjectMeta(object.metadata, metaRules(definition)),
  };
  return afterBoth(validate?.(object, old) ?? [], validateUpdate?.(object, old) ?? [], (ofWhole, ofChange) => {
    const whole = [...looks[inner](), ...ofWhole];
    const change = [...looks[second](), ...ofChange];
    const metadata = [...commonMetadataRules(definition, object, old), ...looks[first]()];
    const errors = [...metadata, ...(updateRules === 'before' ? [...change, ...whole] : [...whole, ...change])];
    return errors.map((error) => showingGiven(error, object));
  });
}

type MetadataLook = 'none' | 'change' | 'object';

/** The metadata rules to run first, before the rules on the whole object, and before the rules on the change. */
const METADATA_ORDER: Readonly<
  Record<NonNullable<Strategy['metadataOnUpdate']>, readonly [MetadataLook, MetadataLook, MetadataLook]>
> = {
  common: ['none', 'none', 'none'],
  change: ['change', 'none', 'none'],
  object: ['none', 'object', 'none'],
  whole: ['change', 'object', 'none'],
  'whole first': ['none', 'object', 'change'],
  'object twice': ['none', 'object', 'object'],
};

/** The common metadata rules: checked for every update, before the kind's rules. */
function commonMetadataRules({ namespaced }: ResourceDefinition, object: KubeObject, old: KubeObject): FieldError[] {
  const whole = { namespaced, validateName: pathSegment, finalizers: 'qualified' } as const;
  return [...validateObjectMeta(object.metadata, whole), ...validateObjectMetaUpdate(object.metadata, old.metadata)];
}

/** The metadata rules of a kind on changes. */
function ownMetadataRules(definition: ResourceDefinition, object: KubeObject, old: KubeObject): FieldError[] {
  const finalizers = definition.strategy.finalizers === 'qualified' ? [] : kubernetesFinalizers(object.metadata);
  return [...validateObjectMetaUpdate(object.metadata, old.metadata), ...finalizers];
}

/** All errors of an update through a subresource. Call it after its `prepareForUpdate`. */
export function validatePartChange(
  definition: ResourceDefinition,
  subresource: SubresourceDefinition,
  object: KubeObject,
  old: KubeObject,
): Errors {
  return afterBoth([], subresource.validateUpdate?.(object, old) ?? [], (_none, change) => {
    const metadata = [...commonMetadataRules(definition, object, old), ...ownMetadataRules(definition, object, old)];
    return [...metadata, ...change].map((error) => showingGiven(error, object));
  });
}

/** Error messages show an empty list or map as the client wrote it. */
function showingGiven(error: FieldError, object: KubeObject): FieldError {
  if (!('value' in error) || (error.value ?? null) !== null) return error;
  const given = givenEmptyAt(object, error.field);
  return given === undefined ? error : { ...error, value: given };
}
