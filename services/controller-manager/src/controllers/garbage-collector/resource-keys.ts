import { type KubeObject, type ObjectKey, parseApiVersion, type ResourceRef, resources } from '@gantry/api';
import type { ServedResource, ServedResources } from '@gantry/controller-runtime';

/** A resource as the collector acts on its objects: in whatever version it is served. */
export interface CollectedResource extends ResourceRef {
  readonly namespaced: boolean;
}

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
const BUILT_IN: ReadonlyMap<string, CollectedResource> = new Map(
  resources
    .filter(({ verbs }) => verbs.includes('get'))
    .sort((a, b) => Number(a.storage === undefined) - Number(b.storage === undefined))
    .map((definition) => [`${definition.group}/${definition.kind}`, definition]),
);

/** What is collected besides the built-in resources. */
export function isCollected({ verbs }: ServedResource): boolean {
  return verbs.includes('delete');
}

/** `<group>/<kind>` of an object or an owner reference: all versions of a kind are the same objects. */
export function groupKindOf(of: { readonly apiVersion: string; readonly kind: string }): string {
  return `${parseApiVersion(of.apiVersion).group}/${of.kind}`;
}

/** The resource of a `<group>/<kind>`; undefined where nothing like it is served. */
export function resourceOf(groupKind: string, served: ServedResources): CollectedResource | undefined {
  const [group = '', kind = ''] = groupKind.split('/');
  return BUILT_IN.get(groupKind) ?? served.findKind(group, kind);
}

/** The queue's name of an object of any kind: `<group>/<kind>|<name>` in its namespace. */
export function collectedKey(object: KubeObject): ObjectKey {
  return {
    namespace: object.metadata.namespace ?? '',
    name: `${groupKindOf(object)}|${object.metadata.name ?? ''}`,
  };
}

/** Inverse of `collectedKey`. */
export function parseCollectedKey({ namespace, name }: ObjectKey): { groupKind: string; key: ObjectKey } {
  const bar = name.indexOf('|');
  return { groupKind: name.slice(0, bar), key: { namespace, name: name.slice(bar + 1) } };
}
