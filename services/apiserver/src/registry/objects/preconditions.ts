import type { ResourceDefinition } from '@gantry/apimachinery';
import { type KubeObject, type ObjectMeta, StatusError } from '@gantry/objects';
import type { DeleteOptions, WriteRequest } from '../contract/registry.ts';
import { objectKey } from '../../cache/index.ts';
import { groupResource } from '../contract/target.ts';

/** Refuses a deletion whose preconditions do not hold. */
export function checkDeletePreconditions(
  object: KubeObject,
  definition: ResourceDefinition,
  preconditions: DeleteOptions['preconditions'],
): void {
  const { uid, resourceVersion } = preconditions;
  const { name = '' } = object.metadata;
  if (uid !== undefined && uid !== object.metadata.uid) {
    const found = object.metadata.uid ?? '';
    const hint = 'The object might have been deleted and then recreated';
    throw conflict(definition, name, { what: 'UID', asked: uid, found, hint });
  }
  if (resourceVersion !== undefined && resourceVersion !== object.metadata.resourceVersion) {
    const found = object.metadata.resourceVersion ?? '';
    const hint = 'The object might have been modified';
    throw conflict(definition, name, { what: 'ResourceVersion', asked: resourceVersion, found, hint });
  }
}

/** A precondition that does not hold. */
interface Mismatch {
  readonly what: 'UID' | 'ResourceVersion';
  readonly asked: string;
  readonly found: string;
  /** What may have happened. */
  readonly hint: string;
}

/** Namespaces and custom resource definitions have other messages than all other kinds. */
function conflict(definition: ResourceDefinition, name: string, { what, asked, found, hint }: Mismatch): StatusError {
  const isNamespace = definition.group === '' && definition.resource === 'namespaces';
  if (isNamespace || definition.strategy.markForDeletion !== undefined) {
    const why = `Precondition failed: ${what} in precondition: ${asked}, ${what} in object meta: ${found}`;
    return StatusError.conflict(groupResource(definition), name, why);
  }
  return StatusError.conflict(
    { group: (definition.storage ?? definition).group, resource: definition.kind },
    name,
    `the ${what} in the precondition (${asked}) does not match the ${what} in record (${found}). ${hint}`,
  );
}

/**
 * The version that an update names; '' for none. Kubernetes reads versions as numbers, and 0 as none: an update that names it
 * is unconditional (`Store.Update` of its generic registry).
 */
export function namedVersion({ resourceVersion = '' }: ObjectMeta): string {
  return /^0+$/.test(resourceVersion) ? '' : resourceVersion;
}

/** Refuses an update of another object of the same name, or of an older version. */
export function checkUpdatePreconditions(
  current: KubeObject,
  definition: ResourceDefinition,
  sent: { readonly uid?: string | undefined; readonly resourceVersion?: string | undefined },
): void {
  const { namespace = '', name = '', uid = '', resourceVersion } = current.metadata;
  if (sent.uid !== undefined && sent.uid !== '' && sent.uid !== uid) {
    const stored = objectKey(definition, namespace, name);
    // Kubernetes shows the keys of custom resources without their prefix.
    const key = definition.publishedSchema !== undefined ? stored.replace(/^\/registry/, '') : stored;
    const why = `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${sent.uid}, UID in object meta: ${uid}`;
    throw StatusError.conflict(groupResource(definition), name, why);
  }
  if (sent.resourceVersion !== undefined && sent.resourceVersion !== '' && sent.resourceVersion !== resourceVersion) {
    throw StatusError.conflict(groupResource(definition), name);
  }
}

/** Refuses an update without a resourceVersion where the kind or the subresource wants one. */
export function requireVersion({ target, subresource }: WriteRequest, sent: KubeObject): void {
  const { definition, name } = target;
  if (namedVersion(sent.metadata) !== '') return;
  const isRequired = subresource?.requiresVersion ?? definition.strategy.allowUnconditionalUpdate === false;
  if (!isRequired) return;
  throw StatusError.invalid(definition.group, definition.resource, name, [
    {
      type: 'FieldValueInvalid',
      field: 'metadata.resourceVersion',
      value: 0,
      detail: 'must be specified for an update',
    },
  ]);
}
