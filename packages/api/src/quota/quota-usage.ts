import type { PersistentVolumeClaim, Pod, ResourceQuota, Service } from '../generated/types.ts';
import type { KubeObject } from '../object.ts';
import { subtractQuantity, canonicalQuantity, formatQuantity, parseQuantity } from '../quantity.ts';
import type { GroupResource } from '../status-error.ts';
import { addAmounts, type Amounts, compareAmounts, podAmounts } from './pod-amounts.ts';

/** Resources of the core group that quotas count by their plain names too. */
const PLAIN: ReadonlySet<string> = new Set([
  'configmaps',
  'persistentvolumeclaims',
  'pods',
  'replicationcontrollers',
  'resourcequotas',
  'secrets',
  'services',
]);
const COMPUTE: ReadonlySet<string> = new Set(['cpu', 'memory', 'ephemeral-storage']);
const CLASS_SUFFIX = '.storageclass.storage.k8s.io/';

/** What an object takes of quotas. */
export function quotaUsage(of: GroupResource, object: KubeObject): Amounts {
  const usage: Record<string, string> = { [`count/${of.resource}${of.group === '' ? '' : `.${of.group}`}`]: '1' };
  if (of.group !== '' || !PLAIN.has(of.resource)) return usage;
  switch (of.resource) {
    case 'pods':
      return { ...usage, ...podUsage(object) };
    case 'persistentvolumeclaims':
      return { ...usage, ...claimUsage(object) };
    case 'services':
      return { ...usage, ...serviceUsage(object) };
    default:
      return { ...usage, [of.resource]: '1' };
  }
}

/** Pods that have ended take nothing but their place among the objects. */
function podUsage({ spec, status }: Pod): Amounts {
  if (spec === undefined || status?.phase === 'Succeeded' || status?.phase === 'Failed') return {};
  const usage: Record<string, string> = { pods: '1' };
  for (const [name, amount] of Object.entries(podAmounts(spec, 'requests'))) {
    if (COMPUTE.has(name) || name.startsWith('hugepages-')) usage[name] = amount;
    usage[`requests.${name}`] = amount;
  }
  for (const [name, amount] of Object.entries(podAmounts(spec, 'limits'))) {
    if (COMPUTE.has(name)) usage[`limits.${name}`] = amount;
  }
  return usage;
}

function claimUsage({ spec }: PersistentVolumeClaim): Amounts {
  const usage: Record<string, string> = { persistentvolumeclaims: '1' };
  const className = spec?.storageClassName ?? '';
  if (className !== '') usage[`${className}${CLASS_SUFFIX}persistentvolumeclaims`] = '1';
  const storage = spec?.resources?.requests?.['storage'];
  if (storage === undefined) return usage;
  usage['requests.storage'] = storage;
  if (className !== '') usage[`${className}${CLASS_SUFFIX}requests.storage`] = storage;
  return usage;
}

function serviceUsage({ spec }: Service): Amounts {
  const usage: Record<string, string> = { services: '1', 'services.loadbalancers': '0', 'services.nodeports': '0' };
  const ports = spec?.ports ?? [];
  if (spec?.type === 'NodePort') usage['services.nodeports'] = String(ports.length);
  if (spec?.type !== 'LoadBalancer') return usage;
  usage['services.loadbalancers'] = '1';
  const own = ports.filter(({ nodePort }) => (nodePort ?? 0) !== 0).length;
  usage['services.nodeports'] = String(spec.allocateLoadBalancerNodePorts === false ? own : ports.length);
  return usage;
}

/** Whether a quota is about an object: it counts something of its kind, and the object is in all of its scopes. */
export function quotaMatches(quota: ResourceQuota, of: GroupResource, object: KubeObject): boolean {
  const scopes = [
    ...(quota.spec?.scopes ?? []).map((scopeName) => ({ scopeName, operator: 'Exists', values: [] as string[] })),
    ...(quota.spec?.scopeSelector?.matchExpressions ?? []),
  ];
  if (scopes.length === 0) return true;
  if (of.group !== '' || of.resource !== 'pods') return false;
  return scopes.every(({ scopeName, operator, values = [] }) => inScope(object as Pod, scopeName, operator, values));
}

function inScope({ spec }: Pod, scope: string, operator: string, values: readonly string[]): boolean {
  const ends = (spec?.activeDeadlineSeconds ?? -1) >= 0;
  const className = spec?.priorityClassName ?? '';
  switch (scope) {
    case 'Terminating':
      return ends;
    case 'NotTerminating':
      return !ends;
    case 'BestEffort':
      return spec !== undefined && isBestEffort({ spec });
    case 'NotBestEffort':
      return spec !== undefined && !isBestEffort({ spec });
    case 'PriorityClass':
      if (operator === 'Exists') return className !== '';
      if (operator === 'DoesNotExist') return className === '';
      return operator === 'In' ? values.includes(className) : !values.includes(className);
    case 'CrossNamespacePodAffinity':
      return crossesNamespaces(spec);
    default:
      return false;
  }
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

/** The parts of `amounts` that have these names. */
export function maskAmounts(amounts: Amounts, names: readonly string[]): Amounts {
  return Object.fromEntries(names.flatMap((name) => (amounts[name] === undefined ? [] : [[name, amounts[name]]])));
}

/** What is more now than before; nothing where it is not. */
export function growthOf(now: Amounts, before: Amounts): Amounts {
  return Object.fromEntries(
    Object.entries(now).flatMap(([name, amount]) => {
      const old = before[name] ?? '0';
      if (compareAmounts(amount, old) <= 0) return [];
      return [[name, canonicalQuantity(formatQuantity(subtractQuantity(parseQuantity(amount), parseQuantity(old))))]];
    }),
  );
}

/** Usage of a quota by all that exists: an amount for everything that it limits. */
export function totalUsage(
  quota: ResourceQuota,
  objects: readonly { readonly of: GroupResource; readonly object: KubeObject }[],
): Amounts {
  const names = Object.keys(quota.spec?.hard ?? {});
  const total: Record<string, string> = Object.fromEntries(names.map((name) => [name, '0']));
  for (const { of, object } of objects) {
    if (!quotaMatches(quota, of, object)) continue;
    for (const [name, amount] of Object.entries(maskAmounts(quotaUsage(of, object), names))) {
      total[name] = addAmounts(total[name] ?? '0', amount);
    }
  }
  return total;
}
