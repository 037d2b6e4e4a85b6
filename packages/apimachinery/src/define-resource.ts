import type { KubeObject, Resource } from '@gantry/objects';
import { type ResourceDefinition, STORED_VERBS } from './resource-definition.ts';

/** The fields of a definition that its resource says. */
type Named = 'group' | 'version' | 'kind' | 'resource' | 'namespaced';

/** The fields of a definition that have a usual value. */
type Usual = 'singular' | 'shortNames' | 'categories' | 'verbs' | 'subresources' | 'selectableFields' | 'stored';

/** What a kind's file says: everything but the names, and of the usual only what differs. */
export type ResourceParts<T extends KubeObject> = Omit<ResourceDefinition<T>, Named | Usual> &
  Partial<Pick<ResourceDefinition<T>, Usual>>;

/**
 * The definition of a resource, as registries hold it. Absent parts have their usual value: a stored resource with the verbs of
 * one, no short names, categories, subresources or selectable fields, and its kind in lower case as singular.
 */
export function defineResource<T extends KubeObject>(
  { group, version, kind, resource, namespaced }: Resource<T>,
  parts: ResourceParts<NoInfer<T>>,
): ResourceDefinition {
  const definition: ResourceDefinition<T> = {
    group,
    version,
    kind,
    resource,
    namespaced,
    singular: kind.toLowerCase(),
    shortNames: [],
    categories: [],
    verbs: STORED_VERBS,
    subresources: [],
    selectableFields: {},
    stored: true,
    ...parts,
  };
  // Sound: hooks are only called with objects that were decoded by the definition's own schema, which are of type T.
  return definition as unknown as ResourceDefinition;
}
