import type { Cache, ServedResource, ServedResources } from '@gantry/controller-runtime';
import { resources } from '@gantry/kinds';
import { type KubeObject, type OwnerReference, parseApiVersion, type Resource } from '@gantry/objects';

/** Built-in resources that are garbage collected: all that are stored and can be watched and deleted, except Events. */
export const COLLECTED = resources.filter(
  ({ stored, storage, verbs, resource }) =>
    stored &&
    storage === undefined &&
    resource !== 'events' &&
    verbs.includes('list') &&
    verbs.includes('watch') &&
    verbs.includes('delete'),
);

/** By kind; if a kind has several versions, the stored one. */
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

/** The resource of a `<group>/<kind>`, in any version; undefined if it is not served. */
export function resourceOf(groupKind: string, served: ServedResources): Resource | undefined {
  const [group = '', kind = ''] = groupKind.split('/');
  return BUILT_IN.get(groupKind) ?? served.findKind(group, kind);
}

/** Whether an owner is in the dependent's namespace or cluster-scoped: ownership across namespaces is not allowed. */
export function isWithinScope(owner: KubeObject, dependent: KubeObject): boolean {
  const namespace = owner.metadata.namespace ?? '';
  return namespace === '' || namespace === (dependent.metadata.namespace ?? '');
}

/** The owner of a reference, if it is cached: uid, name, kind and scope must all match. */
export function cachedOwner(object: KubeObject, reference: OwnerReference, cache: Cache): KubeObject | undefined {
  const owner = cache.withUid(reference.uid);
  if (owner === undefined || owner.metadata.name !== reference.name) return undefined;
  return groupKindOf(owner) === groupKindOf(reference) && isWithinScope(owner, object) ? owner : undefined;
}

/** The message of the Event about an owner that does not exist where the reference points. */
export function describeMissing({ apiVersion, kind, name, uid }: OwnerReference, namespace: string): string {
  const owner = `[${apiVersion}/${kind}, namespace: ${namespace}, name: ${name}, uid: ${uid}]`;
  return `ownerRef ${owner} does not exist in namespace ${JSON.stringify(namespace)}`;
}
