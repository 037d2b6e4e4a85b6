import { type FieldError, type ServiceSpec, equalJson, invalid } from '@gantry/objects';
import { type IpFamily, ipFamily } from '../../fields/ip.ts';

/** Address families of the cluster. */
const CLUSTER_FAMILIES: readonly string[] = ['IPv4'] satisfies IpFamily[];
const POLICY = 'spec.ipFamilyPolicy';

/** Whether the endpoints are managed by others. Such a Service may use families that the cluster does not have. */
function hasOwnEndpoints({ clusterIP, selector = {} }: ServiceSpec): boolean {
  return clusterIP === 'None' && Object.keys(selector).length === 0;
}

/**
 * What `settleFamilies` found in an update, for `validateClusterFamilies`, because the spec does not show it. Kubernetes sets and validates
 * families in one step.
 */
const settled = new WeakMap<ServiceSpec, 'as-before' | 'families-left-out'>();

/** Whether an update leaves a PreferDualStack Service unchanged. Kubernetes then neither adds nor validates families. */
function staysAsPreferred(spec: ServiceSpec, old: ServiceSpec): boolean {
  return (
    spec.ipFamilyPolicy === 'PreferDualStack' &&
    (old.ipFamilyPolicy ?? 'PreferDualStack') === 'PreferDualStack' &&
    spec.type === old.type &&
    equalJson(spec.clusterIPs ?? [], old.clusterIPs ?? []) &&
    equalJson(spec.ipFamilies ?? [], old.ipFamilies ?? [])
  );
}

/**
 * Sets the policy and families that the client omitted, as Kubernetes does before it allocates. `old` is the stored spec of an update; its
 * policy stays in effect. A family that the cluster does not have is left out, and `validateClusterFamilies` reports it.
 */
export function settleFamilies(spec: ServiceSpec, old?: ServiceSpec): void {
  settled.delete(spec);
  if (spec.type === 'ExternalName') return;
  if (old !== undefined && staysAsPreferred(spec, old)) {
    settled.set(spec, 'as-before');
    return;
  }
  if (old !== undefined && (spec.ipFamilies ?? []).length === 0) settled.set(spec, 'families-left-out');
  spec.ipFamilyPolicy ??= old?.ipFamilyPolicy ?? (hasOwnEndpoints(spec) ? 'RequireDualStack' : 'SingleStack');
  const isSingle = spec.ipFamilyPolicy === 'SingleStack';
  if (isSingle && old !== undefined) releaseSecond(spec, old);
  const families = [...(spec.ipFamilies ?? [])];
  const addresses = spec.clusterIPs?.[0] === 'None' ? [] : (spec.clusterIPs ?? []);
  for (const address of addresses.slice(families.length)) {
    const family = ipFamily(address);
    if (family === undefined || !CLUSTER_FAMILIES.includes(family) || families.includes(family)) break;
    families.push(family);
  }
  // RequireDualStack is rejected if the endpoints are the cluster's.
  const isRefused = spec.ipFamilyPolicy === 'RequireDualStack' && !hasOwnEndpoints(spec);
  if (families.length === 0 && addresses.length === 0 && !isRefused) families.push('IPv4');
  const releases = (spec.ipFamilies ?? []).length === 1 && (old?.ipFamilies ?? []).length === 2;
  if (hasOwnEndpoints(spec) && families.length === 1 && !isSingle && !releases) {
    families.push(families[0] === 'IPv4' ? 'IPv6' : 'IPv4');
  }
  spec.ipFamilies = families;
}

/** A change to one family without other changes releases the second one. */
function releaseSecond(spec: ServiceSpec, old: ServiceSpec): void {
  if (equalJson(spec.clusterIPs ?? [], old.clusterIPs ?? [])) spec.clusterIPs = spec.clusterIPs?.slice(0, 1) ?? [];
  if (equalJson(spec.ipFamilies ?? [], old.ipFamilies ?? [])) spec.ipFamilies = spec.ipFamilies?.slice(0, 1) ?? [];
}

/** Errors in the combination of families, or requests that the cluster cannot fulfil. They are reported alone, in Kubernetes' order. */
export function validateClusterFamilies(spec: ServiceSpec, old?: ServiceSpec): FieldError[] {
  if (spec.type === 'ExternalName' || settled.get(spec) === 'as-before') return [];
  const errors = [...validateReleased(spec, old), ...validateCounts(spec), ...validateAddressFamilies(spec)];
  return errors.length > 0 || hasOwnEndpoints(spec) ? errors : validateConfigured(spec);
}

function validateReleased(spec: ServiceSpec, old: ServiceSpec = {}): FieldError[] {
  const { ipFamilyPolicy } = spec;
  if (ipFamilyPolicy === 'SingleStack') return [];
  const parts = [
    ['clusterIPs', 'cluster IP'],
    ['ipFamilies', 'IP family'],
  ] as const;
  return parts.flatMap(([field, name]) => {
    const [after, before] = [spec[field] ?? [], old[field] ?? []];
    if (after.length === 0 || after.length >= before.length) return [];
    // Omitted families are not released.
    if (field === 'ipFamilies' && settled.get(spec) === 'families-left-out') return [];
    return [invalid(POLICY, ipFamilyPolicy, `must be 'SingleStack' to release the secondary ${name}`)];
  });
}

function validateCounts({ ipFamilyPolicy, clusterIPs = [], ipFamilies = [] }: ServiceSpec): FieldError[] {
  if (ipFamilyPolicy !== 'SingleStack') return [];
  const wrong = (what: string) =>
    invalid(
      POLICY,
      ipFamilyPolicy,
      `must be 'RequireDualStack' or 'PreferDualStack' when multiple ${what} are specified`,
    );
  return [
    ...(clusterIPs.length === 2 ? [wrong('cluster IPs')] : []),
    ...(ipFamilies.length === 2 ? [wrong('IP families')] : []),
  ];
}

/** Addresses whose family is neither given nor available in the cluster. */
function validateAddressFamilies({ clusterIPs = [], ipFamilies = [] }: ServiceSpec): FieldError[] {
  return clusterIPs.flatMap((address, i) => {
    const family = ipFamily(address);
    if (i < ipFamilies.length || family === undefined || CLUSTER_FAMILIES.includes(family)) return [];
    return [invalid(`spec.clusterIPs[${i}]`, clusterIPs, `${family} is not configured on this cluster`)];
  });
}

function validateConfigured({ ipFamilyPolicy, ipFamilies = [] }: ServiceSpec): FieldError[] {
  const detail = 'this cluster is not configured for dual-stack services';
  return [
    ...(ipFamilyPolicy === 'RequireDualStack' ? [invalid(POLICY, ipFamilyPolicy, detail)] : []),
    ...ipFamilies.flatMap((family, i) =>
      CLUSTER_FAMILIES.includes(family)
        ? []
        : [invalid(`spec.ipFamilies[${i}]`, family, 'not configured on this cluster')],
    ),
  ];
}
