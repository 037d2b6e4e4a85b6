import type { CustomResourceDefinition, Resource } from '@gantry/objects';

/** The resource of `establishedDefinition()`. */
export const WIDGETS: Resource = {
  group: 'example.com',
  version: 'v1',
  resource: 'widgets',
  kind: 'Widget',
  namespaced: true,
};

/** A definition as it is once its names are accepted; by default namespaced widgets of example.com in version v1. */
export function establishedDefinition(
  spec: Partial<CustomResourceDefinition['spec']> = {},
  kind = 'Widget',
): CustomResourceDefinition {
  const plural = `${kind.toLowerCase()}s`;
  const names = { kind, plural, singular: kind.toLowerCase() };
  const { group = 'example.com' } = spec;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: { group, names, scope: 'Namespaced', versions: [{ name: 'v1', served: true, storage: true }], ...spec },
    status: { acceptedNames: names, conditions: [{ type: 'Established', status: 'True' }] },
  };
}
