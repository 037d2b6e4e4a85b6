import type { SubresourceDefinition } from '@gantry/apimachinery';
import {
  type KubeObject,
  type LabelSelector,
  type Scale,
  StatusError,
  cloneJson,
  labelSelectorFrom,
} from '@gantry/objects';

/** The paths of the fields of a Scale in the objects of a kind. */
export type ScalePaths = NonNullable<SubresourceDefinition['scale']>;

/** The short name of the schema of the scale subresource. */
export const SCALE_SCHEMA = 'autoscaling.v1.Scale';

/** The Scale of an object. */
export function scaleOf(object: KubeObject, paths: ScalePaths): Scale & KubeObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const replicas = numberAt(object, paths.specReplicas);
  const selector = selectorOf(object, paths);
  const metadata = Object.fromEntries(
    Object.entries({ name, namespace, uid, resourceVersion, creationTimestamp }).filter(
      ([, value]) => value !== undefined,
    ),
  );
  return {
    apiVersion: 'autoscaling/v1',
    kind: 'Scale',
    metadata,
    spec: replicas === 0 ? {} : { replicas },
    status: { replicas: numberAt(object, paths.statusReplicas), selector: selector || undefined },
  };
}

/** Throws when a custom resource does not have the field of its replicas. Built-in kinds always have it. */
export function requireReplicas(object: KubeObject, { specReplicas, checks }: ScalePaths): void {
  if (checks !== 'own' || valueAt(object, specReplicas) !== undefined) return;
  throw StatusError.internal(`the spec replicas field ${JSON.stringify(specReplicas)} does not exist`);
}

/** The selector as text. Custom resources store it as text. */
function selectorOf(object: KubeObject, paths: ScalePaths): string {
  if (paths.selector === '') return '';
  const value = valueAt(object, paths.selector);
  if (typeof value === 'string') return value;
  const selector = isLabelMap(value) ? { matchLabels: value } : (value as LabelSelector | undefined);
  return labelSelectorFrom(selector).toString();
}

/** Whether a selector is a map of labels, as in ReplicationControllers. */
function isLabelMap(value: unknown): value is Record<string, string> {
  if (typeof value !== 'object' || value === null) return false;
  const values = Object.values(value);
  return values.length > 0 && values.every((one) => typeof one === 'string');
}

/** A copy of the object with the replicas of a Scale. */
export function withScale(object: KubeObject, scale: Scale, paths: ScalePaths): KubeObject {
  const replicas = scale.spec?.replicas ?? 0;
  // For custom resources, their own validation rules check the number.
  if (replicas < 0 && paths.checks !== 'own') {
    const { name = '' } = object.metadata;
    throw StatusError.invalid('autoscaling', 'Scale', name, [
      {
        type: 'FieldValueInvalid',
        field: 'spec.replicas',
        value: replicas,
        detail: 'must be greater than or equal to 0',
      },
    ]);
  }
  const copy = cloneJson(object);
  const path = partsOf(paths.specReplicas);
  const last = path.pop();
  let at = copy as Record<string, unknown>;
  for (const part of path) {
    const next = (at[part] ?? {}) as Record<string, unknown>;
    at[part] = next;
    at = next;
  }
  if (last !== undefined) at[last] = replicas;
  return copy;
}

function partsOf(path: string): string[] {
  return path.split('.').filter((part) => part !== '');
}

function valueAt(object: KubeObject, path: string): unknown {
  let at: unknown = object;
  for (const part of partsOf(path)) {
    if (at === null || typeof at !== 'object') return undefined;
    at = (at as Record<string, unknown>)[part];
  }
  return at;
}

function numberAt(object: KubeObject, path: string): number {
  const value = valueAt(object, path);
  return typeof value === 'number' ? value : 0;
}
