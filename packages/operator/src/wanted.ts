import {
  apiVersionOf,
  controllerOf,
  controllerReference,
  formatKey,
  keyOf,
  type KubeObject,
  parseApiVersion,
  type Resource,
} from '@gantry/objects';

/** What a declared controller owns. */
interface Owning {
  readonly owns: readonly Resource[];
}

/** Thrown when a controller wants what it may not; the message names the object. */
export class DesiredError extends Error {
  override readonly name = 'DesiredError';
}

/** An object that is written, or kept as it is. */
export interface Wanted {
  readonly resource: Resource;
  readonly configuration: KubeObject;
}

/** Names an object, for people and as a key. */
export function placeOf({ resource, configuration }: Wanted): string {
  return `${resource.group}/${resource.resource}/${formatKey(keyOf(configuration))}`;
}

/** An object that is not to be written. Throws DesiredError for one that the owner does not control. */
export function keptOf(
  { owns }: Owning,
  owned: (resource: Resource) => readonly KubeObject[],
  kept: KubeObject,
): Wanted {
  const resource = owns.find((one) => owned(one).some(({ metadata }) => metadata.uid === kept.metadata.uid));
  if (resource === undefined) {
    throw new DesiredError(`${kept.kind} ${kept.metadata.name}: is to be kept, but is not one of \`owned\``);
  }
  return { resource, configuration: kept };
}

/** The object as it is applied: in its namespace, with its owner. Throws DesiredError. */
export function placed(declared: Owning, owner: KubeObject, wanted: KubeObject): Wanted {
  const { group } = parseApiVersion(wanted.apiVersion);
  const title = `${wanted.kind} ${wanted.metadata.name ?? ''}`;
  const resource = declared.owns.find((one) => one.kind === wanted.kind && one.group === group);
  if (resource === undefined)
    throw new DesiredError(`${title}: ${wanted.apiVersion} ${wanted.kind} is not in \`owns\``);
  if (wanted.apiVersion !== apiVersionOf(resource)) {
    throw new DesiredError(`${title}: has version ${wanted.apiVersion}, but \`owns\` has ${apiVersionOf(resource)}`);
  }
  if ((wanted.metadata.name ?? '') === '') throw new DesiredError(`${wanted.kind}: metadata.name is required`);
  const { namespace: home } = owner.metadata;
  if (!resource.namespaced && home !== undefined) {
    throw new DesiredError(`${title}: an object of cluster scope cannot be owned by one of a namespace`);
  }
  const namespace = resource.namespaced ? (wanted.metadata.namespace ?? home) : undefined;
  if (resource.namespaced && namespace === undefined)
    throw new DesiredError(`${title}: metadata.namespace is required`);
  if (home !== undefined && namespace !== home) {
    throw new DesiredError(`${title}: is in namespace ${namespace}, but its owner is in ${home}`);
  }
  const ownerReferences = [...(wanted.metadata.ownerReferences ?? []), controllerReference(owner)];
  const metadata = { ...wanted.metadata, ...(namespace === undefined ? {} : { namespace }), ownerReferences };
  return { resource, configuration: { ...wanted, metadata } };
}

/** Throws when another object controls the live one: server-side apply would take over its fields. */
export function refuseForeign(live: KubeObject | undefined, owner: KubeObject, place: string): void {
  const other = controllerOf(live);
  if (other === undefined || other.uid === owner.metadata.uid) return;
  throw new DesiredError(`${place} is controlled by ${other.kind} ${other.name}`);
}
