import type { SubresourceDefinition } from '@gantry/apimachinery';
import {
  type KubeObject,
  type LabelSelector,
  type Scale,
  StatusError,
  cloneJson,
  labelSelectorFrom,
} from '@gantry/objects';

/** The paths of the fields of a kind that a Scale shows. */
export type ScalePaths = NonNullable<SubresourceDefinition['scale']>;

/** Short name of the schema of the scale subresource. */
export const SCALE_SCHEMA = 'autoscaling.v1.Scale';

/** The object as the scale subresource shows it. */
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

/** Refuses to show how many there should be of a custom resource that does not say it. Built-in kinds always do. */
export function requireReplicas(object: KubeObject, { specReplicas, checks }: ScalePaths): void {
  if (checks !== 'own' || valueAt(object, specReplicas) !== undefined) return;
  throw StatusError.internal(`the spec replicas field ${JSON.stringify(specReplicas)} does not exist`);
}

/** Custom resources keep a selector as its text. */
function selectorOf(object: KubeObject, paths: ScalePaths): string {
  if (paths.selector === '') return '';
  const value = valueAt(object, paths.selector);
  if (typeof value === 'string') return value;
  const selector = isLabelMap(value) ? { matchLabels: value } : (value as LabelSelector | undefined);
  return labelSelectorFrom(selector).toString();
}

/** Whether a selector is a ReplicationController's, which is but labels. */
function isLabelMap(value: unknown): value is Record<string, string> {
  if (typeof value !== 'object' || value === null) return false;
  const values = Object.values(value);
  return values.length > 0 && values.every((one) => typeof one === 'string');
}

/** A copy of the object with the replicas of a Scale. */
export function withScale(object: KubeObject, scale: Scale, paths: ScalePaths): KubeObject {
  const replicas = scale.spec?.replicas ?? 0;
  // Of custom resources, their own rules say it.
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
