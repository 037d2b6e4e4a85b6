import type { ResourceDefinition, ResourceRef } from '../resource.ts';

/** Every resource that the API serves, in discovery order. Adding a kind adds a file and a line here. */
export const resources: readonly ResourceDefinition[] = [];

/** The definition of a resource by group, version and plural. */
export function findResource(ref: ResourceRef): ResourceDefinition | undefined {
  return resources.find((r) => r.group === ref.group && r.version === ref.version && r.resource === ref.resource);
}

/** The definition of a kind by group, version and kind; of resources that share a kind the stored one. */
export function findKind(group: string, version: string, kind: string): ResourceDefinition | undefined {
  return resources.find((r) => r.group === group && r.version === version && r.kind === kind);
}
