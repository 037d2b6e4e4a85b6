import { parseJson } from '../values/exact-number.ts';
import { apiVersionOf, goJson, type JsonObject, type KubeObject, LAST_APPLIED_ANNOTATION } from '@gantry/objects';
import { MAX_ANNOTATIONS_BYTES } from '../validation/labels.ts';
import { findMisfits } from './check-values.ts';
import { compareFields } from './compare.ts';
import type { FieldSet } from './field-set.ts';
import { type ManagedKind, typeOf } from './managed-kind.ts';
import { isJsonMap, KeylessItem } from './shape.ts';
import { toFieldSet } from './to-field-set.ts';

/** Kubernetes lets this manager take over fields that it has set by client-side apply. */
export const KUBECTL = 'kubectl';

/**
 * The fields that still have the value of the object's `last-applied-configuration` annotation. Undefined when there is no readable
 * annotation.
 */
export function fieldsLastApplied(of: ManagedKind, live: KubeObject): FieldSet | undefined {
  const text = live.metadata?.annotations?.[LAST_APPLIED_ANNOTATION] ?? '';
  if (text === '') return undefined;
  let config: unknown;
  try {
    config = parseJson(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
  if (!isJsonMap(config) || config['apiVersion'] !== apiVersionOf(of) || config['kind'] !== of.kind) return undefined;
  const type = typeOf(of);
  try {
    if (findMisfits(type, config) !== undefined) return undefined;
    const { modified, added, removed } = compareFields(type, config, live);
    return toFieldSet(type, config).difference(modified).difference(added).difference(removed);
  } catch (error) {
    if (error instanceof KeylessItem) return undefined;
    throw error;
  }
}

/** The object with its `last-applied-configuration` annotation, if it has one, replaced by `config`. */
export function refreshLastApplied(object: KubeObject, config: JsonObject): KubeObject {
  const annotations = object.metadata.annotations;
  if (annotations === undefined || (annotations[LAST_APPLIED_ANNOTATION] ?? '') === '') return object;
  const refreshed: Record<string, string> = { ...annotations, [LAST_APPLIED_ANNOTATION]: encodeConfig(config) };
  const size = Object.entries(refreshed).reduce((sum, [key, value]) => sum + key.length + Buffer.byteLength(value), 0);
  // The annotations would be too large to be valid, so this one is left out.
  if (size > MAX_ANNOTATIONS_BYTES) delete refreshed[LAST_APPLIED_ANNOTATION];
  return { ...object, metadata: { ...object.metadata, annotations: refreshed } };
}

function encodeConfig(config: JsonObject): string {
  const { metadata } = config;
  let shown = config;
  if (isJsonMap(metadata) && isJsonMap(metadata['annotations'])) {
    const { [LAST_APPLIED_ANNOTATION]: _last, ...annotations } = metadata['annotations'];
    shown = { ...config, metadata: { ...metadata, annotations } };
  }
  return `${goJson(sorted(shown))}\n`;
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonMap(value)) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, sorted(item)]));
}
