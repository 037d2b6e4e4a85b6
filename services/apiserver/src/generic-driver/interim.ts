import type { FieldValidation, KubeObject, ManagedFieldsEntry, ResourceDefinition } from '@gantry/api';

export function applyPatch(
  _type: string,
  original: KubeObject,
  patch: Uint8Array,
  _definition: ResourceDefinition,
  _mode: FieldValidation,
): { object: KubeObject; warnings: readonly string[] } {
  return { object: merge(original, JSON.parse(new TextDecoder().decode(patch))) as KubeObject, warnings: [] };
}

function merge(a: unknown, b: unknown): unknown {
  if (b === null || typeof b !== 'object' || Array.isArray(b)) return b;
  const out: Record<string, unknown> = a !== null && typeof a === 'object' && !Array.isArray(a) ? { ...a } : {};
  for (const [key, value] of Object.entries(b)) {
    if (value === null) delete out[key];
    else out[key] = merge(out[key], value);
  }
  return out;
}

export function updateManagedFields(
  input: { newObject: KubeObject } & Record<string, unknown>,
): readonly ManagedFieldsEntry[] {
  return input.newObject.metadata.managedFields ?? [];
}
