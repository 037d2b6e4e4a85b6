import { append } from '@gantry/base';
import {
  type FieldError,
  type ObjectMeta,
  type OwnerReference,
  equalJson,
  forbidden,
  invalid,
  labelName,
  qualifiedName,
  required,
  FOREGROUND_FINALIZER,
  ORPHAN_FINALIZER,
} from '@gantry/objects';
import { IMMUTABLE, invalidAll, nonNegative } from './errors.ts';
import { validateAnnotations, validateLabels } from './labels.ts';

const STANDARD_FINALIZERS: ReadonlySet<string> = new Set(['kubernetes', ORPHAN_FINALIZER, FOREGROUND_FINALIZER]);

export interface ObjectMetaRules {
  readonly namespaced: boolean;
  readonly validateName: (name: string, isPrefix: boolean) => readonly string[];
  /** Whether finalizers without a slash must be Kubernetes' own: true for the older groups. */
  readonly finalizers?: 'kubernetes' | 'qualified';
}

/** Checks the metadata of a new object, or of a stored one that is checked as a whole. */
export function validateObjectMeta(meta: ObjectMeta, rules: ObjectMetaRules, path = 'metadata'): FieldError[] {
  const errors: FieldError[] = [];
  const { name = '', generateName = '', namespace = '' } = meta;
  if (generateName !== '') {
    append(errors, invalidAll(`${path}.generateName`, generateName, rules.validateName(generateName, true)));
  }
  if (name === '') errors.push(required(`${path}.name`, 'name or generateName is required'));
  else append(errors, invalidAll(`${path}.name`, name, rules.validateName(name, false)));
  if (rules.namespaced) {
    if (namespace === '') errors.push(required(`${path}.namespace`));
    else append(errors, invalidAll(`${path}.namespace`, namespace, labelName(namespace, false)));
  } else if (namespace !== '') {
    errors.push(forbidden(`${path}.namespace`, 'not allowed on this type'));
  }
  append(errors, nonNegative(`${path}.generation`, meta.generation));
  append(errors, validateLabels(meta.labels, `${path}.labels`));
  append(errors, validateAnnotations(meta.annotations, `${path}.annotations`));
  append(errors, validateOwnerReferences(meta.ownerReferences, `${path}.ownerReferences`));
  append(errors, validateFinalizers(meta.finalizers ?? [], `${path}.finalizers`));
  if (rules.finalizers !== 'qualified') append(errors, kubernetesFinalizers(meta, path));
  return errors;
}

/** Finalizers without a slash that are not Kubernetes' own. */
export function kubernetesFinalizers({ finalizers = [] }: ObjectMeta, path = 'metadata'): FieldError[] {
  return finalizers.flatMap((text, i) => kubernetesFinalizer(text, `${path}.finalizers[${i}]`));
}

function kubernetesFinalizer(text: string, path: string): FieldError[] {
  return text.includes('/') || STANDARD_FINALIZERS.has(text)
    ? []
    : [invalid(path, text, 'name is neither a standard finalizer name nor is it fully qualified')];
}

/** The rules for finalizer names in metadata and in a Namespace's spec. */
export function validateFinalizerName(text: string, path: string): FieldError[] {
  return [...invalidAll(path, text, qualifiedName(text)), ...kubernetesFinalizer(text, path)];
}

function validateFinalizers(finalizers: readonly string[], path: string): FieldError[] {
  const errors = finalizers.flatMap((text) => invalidAll(path, text, qualifiedName(text)));
  if (finalizers.includes(ORPHAN_FINALIZER) && finalizers.includes(FOREGROUND_FINALIZER)) {
    errors.push(invalid(path, finalizers, 'finalizer orphan and foregroundDeletion cannot be both set'));
  }
  return errors;
}

/** The maximum number of references that the errors about several controllers print in total; one full list is always printed. */
const MAX_PRINTED_OWNERS = 10_000;

function validateOwnerReferences(references: readonly OwnerReference[] | undefined, path: string): FieldError[] {
  const errors: FieldError[] = [];
  let controller = '';
  let shown: readonly OwnerReference[] | undefined;
  let printed = 0;
  for (const reference of references ?? []) {
    append(errors, validateOwnerReference(reference, path));
    if (reference.controller !== true) continue;
    const name = `${reference.kind}/${reference.name}`;
    if (controller === '') {
      controller = name;
      continue;
    }
    shown ??= (references ?? []).map(printedOwner);
    // Each error prints the whole list.
    printed += shown.length;
    if (printed > MAX_PRINTED_OWNERS && printed > shown.length) continue;
    errors.push(
      invalid(
        path,
        shown,
        `Only one reference can have Controller set to true. Found "true" in references for ${controller} and ${name}`,
      ),
    );
  }
  return errors;
}

/** Keys in the order in which Kubernetes prints them. */
function printedOwner(reference: OwnerReference): OwnerReference {
  const { apiVersion, kind, name, uid, controller, blockOwnerDeletion } = reference;
  return { apiVersion, kind, name, uid, controller, blockOwnerDeletion };
}

function validateOwnerReference(reference: OwnerReference, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const { apiVersion = '', kind = '', name = '', uid = '' } = reference;
  const version = apiVersion.slice(apiVersion.indexOf('/') + 1);
  if (version === '') errors.push(invalid(`${path}.apiVersion`, apiVersion, 'version must not be empty'));
  if (kind === '') errors.push(invalid(`${path}.kind`, kind, 'must not be empty'));
  if (name === '') errors.push(invalid(`${path}.name`, name, 'must not be empty'));
  if (uid === '') errors.push(invalid(`${path}.uid`, uid, 'must not be empty'));
  if (apiVersion === 'v1' && kind === 'Event') {
    errors.push(invalid(path, printedOwner(reference), '/v1, Kind=Event is disallowed from being an owner'));
  }
  return errors;
}

/** Checks changes of metadata. The registry keeps uid and creation time, so a difference there is a bug or a forged request. */
export function validateObjectMetaUpdate(meta: ObjectMeta, old: ObjectMeta, path = 'metadata'): FieldError[] {
  const errors: FieldError[] = [];
  if (old.deletionTimestamp !== undefined) {
    const before = new Set(old.finalizers);
    const extra = (meta.finalizers ?? []).filter((text) => !before.has(text)).sort();
    if (extra.length > 0) {
      const list = extra.map((text) => JSON.stringify(text)).join(', ');
      errors.push(
        forbidden(
          `${path}.finalizers`,
          `no new finalizers can be added if the object is being deleted, found new finalizers []string{${list}}`,
        ),
      );
    }
  }
  if ((meta.resourceVersion ?? '') === '') {
    errors.push(invalid(`${path}.resourceVersion`, '', 'must be specified for an update'));
  }
  if ((meta.generation ?? 0) < (old.generation ?? 0)) {
    errors.push(invalid(`${path}.generation`, meta.generation ?? 0, 'must not be decremented'));
  }
  for (const field of ['name', 'namespace', 'uid', 'creationTimestamp'] as const) {
    if ((meta[field] ?? '') !== (old[field] ?? ''))
      errors.push(invalid(`${path}.${field}`, meta[field] ?? '', IMMUTABLE));
  }
  for (const field of ['deletionTimestamp', 'deletionGracePeriodSeconds'] as const) {
    if (!equalJson(meta[field] ?? null, old[field] ?? null)) {
      errors.push(invalid(`${path}.${field}`, meta[field] ?? null, IMMUTABLE));
    }
  }
  append(errors, validateLabels(meta.labels, `${path}.labels`));
  append(errors, validateAnnotations(meta.annotations, `${path}.annotations`));
  append(errors, validateOwnerReferences(meta.ownerReferences, `${path}.ownerReferences`));
  return errors;
}
