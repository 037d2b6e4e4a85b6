import type { KubeObject, Resource } from '@gantry/objects';
import { type ResourceDefinition, STORED_VERBS } from './resource-definition.ts';

/** Fields of a definition that come from its resource. */
type Named = 'group' | 'version' | 'kind' | 'resource' | 'namespaced';

/** Fields of a definition that have a default. */
type Usual = 'singular' | 'shortNames' | 'categories' | 'verbs' | 'subresources' | 'selectableFields' | 'stored';

/** The part of a definition that a kind's file contains: all but the names, and fields with a default only if they differ. */
export type ResourceParts<T extends KubeObject> = Omit<ResourceDefinition<T>, Named | Usual> &
  Partial<Pick<ResourceDefinition<T>, Usual>>;

/**
 * Builds the definition of a resource for a registry. Defaults: a stored resource with the usual verbs; no short names, categories,
 * subresources or selectable fields; the kind in lower case as singular.
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
  // The cast is safe: hooks only get objects that were decoded by the definition's own schema, so they have type T.
  return definition as unknown as ResourceDefinition;
}
