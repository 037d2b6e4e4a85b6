import {
  findKind,
  findResource,
  type KubeObject,
  type ObjectKey,
  parseApiVersion,
  type ResourceDefinition,
  resources,
} from '@gantry/api';

/** Resources whose objects own others and are owned: all that are stored, can be watched and deleted, but Events. */
export const COLLECTED: readonly ResourceDefinition[] = resources.filter(
  ({ stored, verbs, resource }) =>
    stored && resource !== 'events' && verbs.includes('list') && verbs.includes('watch') && verbs.includes('delete'),
);

/** The queue's name of an object of any resource: `<group>/<version>/<resource>|<name>` in its namespace. */
export function collectedKey(object: KubeObject): ObjectKey | undefined {
  const definition = definitionOf(object);
  if (definition === undefined) return undefined;
  const { group, version, resource } = definition;
  return {
    namespace: object.metadata.namespace ?? '',
    name: `${group}/${version}/${resource}|${object.metadata.name ?? ''}`,
  };
}

/** Inverse of `collectedKey`. */
export function parseCollectedKey(key: ObjectKey): { definition: ResourceDefinition; key: ObjectKey } | undefined {
  const bar = key.name.indexOf('|');
  const [group = '', version = '', resource = ''] = key.name.slice(0, bar).split('/');
  const definition = findResource({ group, version, resource });
  if (definition === undefined) return undefined;
  return { definition, key: { namespace: key.namespace, name: key.name.slice(bar + 1) } };
}

/** The resource that an object, or an owner reference, belongs to. */
export function definitionOf(of: {
  readonly apiVersion: string;
  readonly kind: string;
}): ResourceDefinition | undefined {
  const { group, version } = parseApiVersion(of.apiVersion);
  return findKind(group, version, of.kind);
}
