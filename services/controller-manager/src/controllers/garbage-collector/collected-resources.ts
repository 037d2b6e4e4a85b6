import type { Cache, ServedResource, ServedResources } from '@gantry/controller-runtime';
import { resources } from '@gantry/kinds';
import { type KubeObject, type OwnerReference, parseApiVersion, type Resource } from '@gantry/objects';

/** Built-in resources whose objects own others and are owned: all that are stored, can be watched and deleted, but Events. */
export const COLLECTED = resources.filter(
  ({ stored, storage, verbs, resource }) =>
    stored &&
    storage === undefined &&
    resource !== 'events' &&
    verbs.includes('list') &&
    verbs.includes('watch') &&
    verbs.includes('delete'),
);

/** By kind; where a kind has several versions, the one that is stored. */
const BUILT_IN: ReadonlyMap<string, Resource> = new Map(
  resources
    .filter(({ verbs }) => verbs.includes('get'))
    .sort((a, b) => Number(a.storage === undefined) - Number(b.storage === undefined))
    .map((definition) => [`${definition.group}/${definition.kind}`, definition]),
);

/** Whether a custom or aggregated resource is collected. */
export function isCollected({ verbs }: ServedResource): boolean {
  return verbs.includes('delete');
}

/** `<group>/<kind>` of an object or an owner reference: all versions of a kind are the same objects. */
export function groupKindOf({ apiVersion, kind }: KubeObject | OwnerReference): string {
  return `${parseApiVersion(apiVersion).group}/${kind}`;
}

/** The resource of a `<group>/<kind>`, in any version; undefined when it is not served. */
export function resourceOf(groupKind: string, served: ServedResources): Resource | undefined {
  const [group = '', kind = ''] = groupKind.split('/');
  return BUILT_IN.get(groupKind) ?? served.findKind(group, kind);
}

/** Whether an owner is in the dependent's namespace or of cluster scope: nothing owns across namespaces. */
export function isWithinScope(owner: KubeObject, dependent: KubeObject): boolean {
  const namespace = owner.metadata.namespace ?? '';
  return namespace === '' || namespace === (dependent.metadata.namespace ?? '');
}

/** The owner that a reference names, if the cache has it: uid, name, kind and scope must all match. */
export function cachedOwner(object: KubeObject, reference: OwnerReference, cache: Cache): KubeObject | undefined {
  const owner = cache.withUid(reference.uid);
  if (owner === undefined || owner.metadata.name !== reference.name) return undefined;
  return groupKindOf(owner) === groupKindOf(reference) && isWithinScope(owner, object) ? owner : undefined;
}

/** The message of the event about an owner that is not where the reference says. */
export function describeMissing({ apiVersion, kind, name, uid }: OwnerReference, namespace: string): string {
  const owner = `[${apiVersion}/${kind}, namespace: ${namespace}, name: ${name}, uid: ${uid}]`;
  return `ownerRef ${owner} does not exist in namespace ${JSON.stringify(namespace)}`;
}
