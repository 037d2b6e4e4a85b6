import { equalJson, type FieldError, formatFieldError, type KubeObject } from '@gantry/objects';
import { isJsonObject, validateAnnotations, validateLabels } from '@gantry/apimachinery';

/** The converted object in the form in which it is stored, or Kubernetes' message about an invalid conversion. */
export type Converted =
  | { readonly ok: true; readonly object: KubeObject }
  | { readonly ok: false; readonly why: string; readonly bare?: boolean };

/**
 * Checks a webhook's conversion against the original: version and kind are as requested, the object is the same, and only labels and
 * annotations of its metadata may differ. Errors with `bare` do not mention the webhook.
 */
export function readConverted(original: KubeObject, converted: unknown, apiVersion: string): Converted {
  if (converted === null || converted === undefined) return refuse('unexpected end of JSON input', true);
  if (!isJsonObject(converted) || typeof converted.kind !== 'string' || converted.kind === '') {
    return refuse(`Object 'Kind' is missing in '${JSON.stringify(converted)}'`, true);
  }
  const { kind, apiVersion: version = '', metadata } = converted;
  if (version !== apiVersion) {
    const why = `invalid groupVersion (expected ${apiVersion}, received ${String(version)})`;
    return refuse(`returned invalid object at index 0: ${why}`);
  }
  if (kind !== original.kind) {
    return refuse(`returned invalid object at index 0: invalid kind (expected ${original.kind}, received ${kind})`);
  }
  const other = otherIdentity(original, isJsonObject(metadata) ? metadata : {});
  if (other !== undefined) return refuse(`returned invalid object: must have the same ${other}`);
  const kept: Record<string, unknown> = { ...original.metadata };
  for (const name of ['labels', 'annotations'] as const) {
    const given = isJsonObject(metadata) ? metadata[name] : undefined;
    if (given === undefined || given === null) {
      delete kept[name];
      continue;
    }
    const wrong = wrongTexts(name, given, original.metadata[name]);
    if (wrong !== undefined) return refuse(`returned invalid metadata: ${wrong}`);
    kept[name] = given;
  }
  return { ok: true, object: { ...converted, metadata: kept } as KubeObject };
}

function refuse(why: string, bare = false): Converted {
  return { ok: false, why, ...(bare ? { bare } : {}) };
}

const IDENTITY = { name: 'name', namespace: 'namespace', uid: 'UID' } as const;

function otherIdentity(original: KubeObject, metadata: Record<string, unknown>): string | undefined {
  for (const [field, name] of Object.entries(IDENTITY) as ['name' | 'namespace' | 'uid', string][]) {
    const before = original.metadata[field] ?? '';
    const after = typeof metadata[field] === 'string' ? metadata[field] : '';
    if (before !== after) return `${name}: ${before} != ${after}`;
  }
  return undefined;
}

function wrongTexts(name: 'labels' | 'annotations', given: unknown, before: unknown): string | undefined {
  if (!isJsonObject(given)) return `invalid metadata.${name} of type ${goType(given)} in converted object`;
  const odd = Object.entries(given).find(([, value]) => typeof value !== 'string');
  if (odd !== undefined) {
    const [key, value] = odd;
    return `metadata.${name}[${key}] must be a string, but is ${goType(value)} in converted object`;
  }
  if (equalJson(given, before)) return undefined;
  const texts = given as Record<string, string>;
  const errors: readonly FieldError[] =
    name === 'labels' ? validateLabels(texts, 'metadata.labels') : validateAnnotations(texts, 'metadata.annotation');
  const told = [...new Set(errors.map((error) => `${error.field}: ${formatFieldError(error)}`))];
  return told.length > 1 ? `[${told.join(', ')}]` : told[0];
}

/** The Go type of a JSON value in Kubernetes' messages. */
export function goType(value: unknown): string {
  if (value === null) return '<nil>';
  if (Array.isArray(value)) return '[]interface {}';
  if (typeof value === 'bigint') return 'int64';
  if (typeof value === 'number') return Number.isSafeInteger(value) ? 'int64' : 'float64';
  if (typeof value === 'boolean') return 'bool';
  return typeof value === 'string' ? 'string' : 'map[string]interface {}';
}
