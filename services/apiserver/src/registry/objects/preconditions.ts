import type { ResourceDefinition } from '@gantry/apimachinery';
import { type KubeObject, type ObjectMeta, StatusError } from '@gantry/objects';
import type { DeleteOptions, WriteRequest } from '../contract/registry.ts';
import { objectKey } from '../../cache/index.ts';
import { groupResource } from '../contract/target.ts';

/** Throws Conflict when the preconditions of a delete do not hold. */
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
  /** A possible cause. */
  readonly hint: string;
}

/** The messages for Namespaces and CustomResourceDefinitions differ from those of other kinds. */
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
 * The resourceVersion of an update; '' for none. Kubernetes parses it as a number and treats 0 as none: an update with it is
 * unconditional. Source: `Store.Update` of Kubernetes' generic registry.
 */
export function namedVersion({ resourceVersion = '' }: ObjectMeta): string {
  return /^0+$/.test(resourceVersion) ? '' : resourceVersion;
}

/** Throws Conflict when the update is for another object of the same name or for an older version. */
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

/** Throws when the update has no resourceVersion but the kind or the subresource requires one. */
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
