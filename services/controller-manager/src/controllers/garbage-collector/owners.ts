import type { Cache } from '@gantry/controller-runtime';
import type { KubeObject, OwnerReference } from '@gantry/objects';
import { groupKindOf } from './collected-resources.ts';

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
