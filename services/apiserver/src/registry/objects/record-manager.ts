import {
  type ManagedKind,
  managedKindOf,
  normaliseShape,
  type OtherVersion,
  type ResourceDefinition,
  updateManagedFields,
} from '@gantry/apimachinery';
import type { Instant } from '@gantry/base';
import {
  apiVersionOf,
  cloneJson,
  type KubeObject,
  type ManagedFieldsEntry,
  parseApiVersion,
  StatusError,
} from '@gantry/objects';
import { findResource } from '@gantry/kinds';

/** A conversion by webhook that managed fields need. */
class ConversionMissing extends Error {
  override readonly name = 'ConversionMissing';
  readonly key: string;
  readonly convert: () => Promise<KubeObject>;

  constructor(key: string, convert: () => Promise<KubeObject>) {
    super();
    this.key = key;
    this.convert = convert;
  }
}

/** Objects that a webhook has converted, by version and content. */
type ConvertedObjects = ReadonlyMap<string, KubeObject>;

/**
 * The result of `work` on the managed fields of a resource. Managed fields of other versions are converted and compared in these versions. If
 * a webhook converts, `work` is called again after each conversion that it lacked, so it must be pure. Rejects with StatusError if a conversion
 * fails.
 */
export async function onManagedFields<T>(
  definition: ResourceDefinition,
  subresource: string,
  work: (of: ManagedKind) => T,
): Promise<T> {
  const converted = new Map<string, KubeObject>();
  const of = managedKindOf(definition, subresource, (apiVersion) => otherVersion(definition, apiVersion, converted));
  for (;;) {
    try {
      return work(of);
    } catch (error) {
      if (!(error instanceof ConversionMissing)) throw error;
      converted.set(error.key, await error.convert());
    }
  }
}

/** Another version of a resource, for managed fields of that version. Undefined when it does not exist. */
function otherVersion(
  definition: ResourceDefinition,
  apiVersion: string,
  converted: ConvertedObjects,
): OtherVersion | undefined {
  const other = findVersion(definition, apiVersion);
  if (other === undefined || storedAs(other) !== storedAs(definition)) return undefined;
  const { schema, sibling, storage } = definition;
  // Without conversion, a field has the same name in all versions. Fields that the other version does not have must stay.
  if (sibling !== undefined && storage?.remote === undefined) return { schema, to: same, from: same };
  return {
    schema: other.schema,
    to: (object) => convert(object, definition, other, converted),
    from: (object) => convert(object, other, definition, converted),
  };
}

/** The definition of a version of a resource. It may be `definition` itself. */
export function findVersion(definition: ResourceDefinition, apiVersion: string): ResourceDefinition | undefined {
  const { group, version } = parseApiVersion(apiVersion);
  if (group === definition.group && version === definition.version) return definition;
  const sibling = group === definition.group ? definition.sibling?.(version) : undefined;
  const { resource, storage } = definition;
  return (
    sibling ??
    findResource({ group, version, resource }) ??
    (storage === undefined ? undefined : findResource({ group, version, resource: storage.resource }))
  );
}

function storedAs({ group, resource, storage }: ResourceDefinition): string {
  return `${storage?.group ?? group}/${storage?.resource ?? resource}`;
}

const same = (object: KubeObject) => object;

/** Converts an object for managed fields. */
function convert(
  object: KubeObject,
  from: ResourceDefinition,
  to: ResourceDefinition,
  converted: ConvertedObjects,
): KubeObject {
  const apiVersion = apiVersionOf(to);
  const remote = from.storage?.remote;
  if (remote !== undefined) {
    const key = `${apiVersion} ${JSON.stringify(object)}`;
    const known = converted.get(key);
    const sent = { ...object, apiVersion: apiVersionOf(from), kind: from.kind };
    if (known === undefined) throw new ConversionMissing(key, () => remote.convert(sent, apiVersion));
    return normaliseShape(cloneJson(known), to.schema);
  }
  const shaped = normaliseShape(cloneJson(object), from.schema);
  const { toStored, toStoredBare = toStored } = from.storage ?? {};
  const stored = toStoredBare === undefined ? shaped : toStoredBare(shaped);
  const there = to.storage === undefined ? stored : to.storage.fromStored(stored);
  return normaliseShape({ ...there, apiVersion, kind: to.kind }, to.schema);
}

/**
 * Records in `object` the manager of each field that differs from `old`. Runs before admission and preparation, so that fields set by
 * them have no manager. As in Kubernetes, no owners are left if a conversion fails.
 */
export async function recordManager(
  object: KubeObject,
  old: KubeObject | undefined,
  by: {
    readonly definition: ResourceDefinition;
    readonly manager: string;
    readonly subresource: string;
    readonly now: Instant;
  },
): Promise<void> {
  const { definition, manager, subresource, now } = by;
  let managedFields: readonly ManagedFieldsEntry[] = [];
  try {
    managedFields = await onManagedFields(definition, subresource, (of) =>
      updateManagedFields({ of, oldObject: old, newObject: object, manager, now }),
    );
  } catch (error) {
    if (!(error instanceof StatusError) || definition.storage?.remote === undefined) throw error;
  }
  if (managedFields.length === 0) delete object.metadata.managedFields;
  else object.metadata.managedFields = [...managedFields];
}
