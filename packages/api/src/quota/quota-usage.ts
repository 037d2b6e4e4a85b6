import type { PersistentVolumeClaim, Pod, ResourceQuota, ResourceResourceClaim, Service } from '../generated/types.ts';
import type { KubeObject } from '../object.ts';
import { canonicalQuantity, formatQuantity, parseQuantity, quantityMilli, subtractQuantity } from '../quantity.ts';
import type { GroupResource } from '../status-error.ts';
import { addAmounts, type Amounts, compareAmounts, podAmounts } from './pod-amounts.ts';
import { inQuotaScopes } from './quota-scopes.ts';

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
const DEVICES_SUFFIX = '.deviceclass.resource.k8s.io/devices';
const CLAIM_NAMES = ['persistentvolumeclaims', 'requests.storage'];
const OLD_CLASS = 'volume.beta.kubernetes.io/storage-class';
/** What a request for all devices may come to. */
const ALL_DEVICES = 32;

/** What quotas can limit of the resources that take more than their count. */
const OWN_NAMES: Readonly<Record<string, (name: string) => boolean>> = {
  '/pods': (name) =>
    name === 'pods' ||
    COMPUTE.has(name.replace(/^(requests|limits)\./, '')) ||
    /^(requests\.)?hugepages-/.test(name) ||
    (name.startsWith('requests.') && name.includes('/') && !name.includes('kubernetes.io/')),
  '/persistentvolumeclaims': (name) =>
    CLAIM_NAMES.some((own) => name === own || name.endsWith(`${CLASS_SUFFIX}${own}`)),
  '/services': (name) => name === 'services' || name === 'services.nodeports' || name === 'services.loadbalancers',
  'resource.k8s.io/resourceclaims': (name) => name.endsWith(DEVICES_SUFFIX),
};

/** The name by which quotas count the objects of a resource. */
function countName({ group, resource }: GroupResource): string {
  return `count/${resource}${group === '' ? '' : `.${group}`}`;
}

/** The resource whose objects a quota counts by this name; undefined for what is not counted so. */
export function countedResource(name: string): GroupResource | undefined {
  const [, resource, group = ''] = /^count\/([^.]+)(?:\.(.+))?$/.exec(name) ?? [];
  return resource === undefined ? undefined : { group, resource };
}

/** What an object takes of quotas; `now` tells which pods should be gone by now, and none are when it is absent. */
export function quotaUsage(of: GroupResource, object: KubeObject, now = Number.NEGATIVE_INFINITY): Amounts {
  const usage: Record<string, string> = { [countName(of)]: '1' };
  switch (`${of.group}/${of.resource}`) {
    case '/pods':
      return { ...usage, ...podUsage(object, now) };
    case '/persistentvolumeclaims':
      return { ...usage, ...claimUsage(object) };
    case '/services':
      return { ...usage, ...serviceUsage(object) };
    case 'resource.k8s.io/resourceclaims':
      return { ...usage, ...deviceUsage(object as ResourceResourceClaim) };
    default:
      return of.group === '' && PLAIN.has(of.resource) ? { ...usage, [of.resource]: '1' } : usage;
  }
}

/** Pods that have ended, or should have by now, take nothing but their place among the objects. */
function podUsage({ metadata, spec, status }: Pod, now: number): Amounts {
  if (spec === undefined || status?.phase === 'Succeeded' || status?.phase === 'Failed') return {};
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata;
  if (deletionTimestamp !== undefined && deletionGracePeriodSeconds !== undefined) {
    if (now > Date.parse(deletionTimestamp) + deletionGracePeriodSeconds * 1000) return {};
  }
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

/** A claim takes what it asks for, or what is set aside for it while it grows, in whole bytes. */
function claimUsage({ metadata, spec, status }: PersistentVolumeClaim): Amounts {
  const usage: Record<string, string> = { persistentvolumeclaims: '1' };
  const className = metadata.annotations?.[OLD_CLASS] ?? spec?.storageClassName ?? '';
  if (className !== '') usage[`${className}${CLASS_SUFFIX}persistentvolumeclaims`] = '1';
  const asked = spec?.resources?.requests?.['storage'];
  if (asked === undefined) return usage;
  const aside = status?.allocatedResources?.['storage'];
  const storage = wholeUnits(aside !== undefined && compareAmounts(aside, asked) > 0 ? aside : asked);
  usage['requests.storage'] = storage;
  if (className !== '') usage[`${className}${CLASS_SUFFIX}requests.storage`] = storage;
  return usage;
}

function wholeUnits(amount: string): string {
  const milli = quantityMilli(amount);
  return milli % 1000 === 0 ? amount : String(Math.ceil(milli / 1000));
}

/** Devices by class; of alternatives the worst for each class. */
function deviceUsage({ spec }: ResourceResourceClaim): Amounts {
  const usage: Record<string, string> = {};
  const countOf = ({ allocationMode, count = 0 }: { allocationMode?: string; count?: number }) =>
    allocationMode === 'All' ? ALL_DEVICES : allocationMode === 'ExactCount' ? count : 0;
  for (const { exactly, firstAvailable = [] } of spec?.devices?.requests ?? []) {
    const most = new Map<string, number>();
    const wanted = firstAvailable.length > 0 ? firstAvailable : exactly === undefined ? [] : [exactly];
    for (const one of wanted) {
      const name = `${one.deviceClassName ?? ''}${DEVICES_SUFFIX}`;
      most.set(name, Math.max(most.get(name) ?? 0, countOf(one)));
    }
    for (const [name, count] of most) usage[name] = addAmounts(usage[name] ?? '0', String(count));
  }
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

/** Whether a quota is about an object: it limits something of its kind, and the object is in all of its scopes. */
export function quotaMatches(quota: ResourceQuota, of: GroupResource, object: KubeObject): boolean {
  return limitedNames(Object.keys(quota.status?.hard ?? {}), of).length > 0 && inQuotaScopes(quota, of, object);
}

/** Those names of what quotas limit that objects of a resource take of. */
export function limitedNames(names: readonly string[], of: GroupResource): readonly string[] {
  const count = countName(of);
  const isOwn =
    OWN_NAMES[`${of.group}/${of.resource}`] ?? ((name) => of.group === '' && PLAIN.has(name) && name === of.resource);
  return names.filter((name) => name === count || isOwn(name));
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
  now?: number,
): Amounts {
  const names = Object.keys(quota.spec?.hard ?? {});
  const total: Record<string, string> = Object.fromEntries(names.map((name) => [name, '0']));
  for (const { of, object } of objects) {
    if (!inQuotaScopes(quota, of, object)) continue;
    for (const [name, amount] of Object.entries(maskAmounts(quotaUsage(of, object, now), names))) {
      total[name] = addAmounts(total[name] ?? '0', amount);
    }
  }
  return total;
}
