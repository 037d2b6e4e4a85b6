import type { JsonObject, KubeObject } from '@gantry/objects';
import { schemaOf, type SchemaRef, type Type } from '../schema/type-schema.ts';
import { findMisfits } from './check-values.ts';
import { mergeValues } from './merge-values.ts';
import { formatElement } from './path-element.ts';
import { isJsonMap, KeylessItem, shapeOf } from './shape.ts';

/** Why a configuration cannot be merged, in Kubernetes' words. */
export class MergeRefused extends Error {
  override readonly name = 'MergeRefused';
}

/**
 * Merges a configuration into `live` like server-side apply, but records no owners and removes nothing. The configuration must not contain
 * atomic values. Does not change its arguments. Throws MergeRefused.
 */
export function mergeUnowned(schema: SchemaRef, live: KubeObject, config: JsonObject): KubeObject {
  const type = schemaOf(schema);
  const misfit = findMisfits(type, config);
  if (misfit !== undefined) {
    throw new MergeRefused(`failed to convert patch object to typed object: ${misfit}`);
  }
  const atomic = findAtomic(type, config, '');
  if (atomic.length > 0) {
    throw new MergeRefused(
      `invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ${atomic.join(', ')}`,
    );
  }
  try {
    return mergeValues(type, live, config) as KubeObject;
  } catch (error) {
    if (!(error instanceof KeylessItem)) throw error;
    throw new MergeRefused(`failed to merge patch: ${error.message}`);
  }
}

/** Paths of atomic parts. As in Kubernetes, maps with arbitrary keys are not searched. */
function findAtomic(type: Type, value: unknown, path: string): readonly string[] {
  const shape = shapeOf(type, value);
  if (isJsonMap(value) && (shape.kind === 'struct' || shape.kind === 'map')) {
    const own = shape.atomic === true ? [path] : [];
    if (shape.kind === 'map') return own;
    const inner = Object.entries(value).flatMap(([key, item]) => {
      const field = shape.fields.get(key);
      return field === undefined ? [] : findAtomic(field.type, item, `${path}.${key}`);
    });
    return [...own, ...inner];
  }
  if (!Array.isArray(value) || shape.kind !== 'list') return [];
  const own = shape.listType === 'atomic' ? [path] : [];
  return [...own, ...value.flatMap((item, i) => findAtomic(shape.items, item, path + formatElement(`i:${i}`)))];
}
