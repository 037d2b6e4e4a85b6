import type { PersistentVolumeClaim, Pod, ResourceQuota } from '../generated/types.ts';
import type { KubeObject } from '../object.ts';
import type { GroupResource } from '../status-error.ts';

const CLASS_OPERATORS: Readonly<Record<string, (named: readonly string[], values: readonly string[]) => boolean>> = {
  Exists: (named) => named.length > 0,
  DoesNotExist: (named) => named.length === 0,
  In: (named, values) => named.some((name) => values.includes(name)),
  NotIn: (named, values) => named.length === 0 || named.some((name) => !values.includes(name)),
};

/** Whether an object is in all scopes of a quota. Only pods and claims can be in any. */
export function inQuotaScopes(quota: ResourceQuota, of: GroupResource, object: KubeObject): boolean {
  const scopes = [
    ...(quota.spec?.scopes ?? []).map((scopeName) => ({ scopeName, operator: 'Exists', values: [] as string[] })),
    ...(quota.spec?.scopeSelector?.matchExpressions ?? []),
  ];
  if (scopes.length === 0) return true;
  const isIn = of.group === '' ? { pods: podInScope, persistentvolumeclaims: claimInScope }[of.resource] : undefined;
  return (
    isIn !== undefined &&
    scopes.every(({ scopeName, operator, values = [] }) => isIn(object, scopeName, operator, values))
  );
}

/** Whether a pod ends by itself. */
export function isTerminating({ spec }: Pod): boolean {
  return (spec?.activeDeadlineSeconds ?? -1) >= 0;
}

function podInScope(pod: Pod, scope: string, operator: string, values: readonly string[]): boolean {
  const { spec } = pod;
  const className = spec?.priorityClassName ?? '';
  switch (scope) {
    case 'Terminating':
      return isTerminating(pod);
    case 'NotTerminating':
      return !isTerminating(pod);
    case 'BestEffort':
      return spec !== undefined && isBestEffort({ spec });
    case 'NotBestEffort':
      return spec !== undefined && !isBestEffort({ spec });
    case 'PriorityClass':
      return CLASS_OPERATORS[operator]?.(className === '' ? [] : [className], values) ?? false;
    case 'CrossNamespacePodAffinity':
      return crossesNamespaces(spec);
    default:
      return false;
  }
}

/** The classes of volume attributes that a claim has, had, or is on its way to. */
export function attributesClassesOf({ spec, status }: PersistentVolumeClaim): readonly string[] {
  const names = [
    spec?.volumeAttributesClassName ?? '',
    status?.currentVolumeAttributesClassName ?? '',
    status?.modifyVolumeStatus?.targetVolumeAttributesClassName ?? '',
  ];
  return [...new Set(names)].filter((name) => name !== '').sort();
}

function claimInScope(
  claim: PersistentVolumeClaim,
  scope: string,
  operator: string,
  values: readonly string[],
): boolean {
  return (
    scope === 'VolumeAttributesClass' && (CLASS_OPERATORS[operator]?.(attributesClassesOf(claim), values) ?? false)
  );
}

function isBestEffort({ spec }: Pick<Pod, 'spec'>): boolean {
  const containers = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])];
  return [...containers, { resources: spec?.resources }].every(({ resources }) =>
    [resources?.requests, resources?.limits].every(
      (amounts) => (amounts?.['cpu'] ?? '0') === '0' && (amounts?.['memory'] ?? '0') === '0',
    ),
  );
}

function crossesNamespaces(spec: Pod['spec']): boolean {
  const { podAffinity, podAntiAffinity } = spec?.affinity ?? {};
  const terms = [podAffinity, podAntiAffinity].flatMap((affinity) => [
    ...(affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ...(affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map((one) => one.podAffinityTerm),
  ]);
  return terms.some((term) => (term.namespaces ?? []).length > 0 || term.namespaceSelector !== undefined);
}
