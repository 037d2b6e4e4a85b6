import type { KubeObject, ManagedFieldsEntry } from '@gantry/api';

export function updateManagedFields(
  input: { newObject: KubeObject } & Record<string, unknown>,
): readonly ManagedFieldsEntry[] {
  return input.newObject.metadata.managedFields ?? [];
}
