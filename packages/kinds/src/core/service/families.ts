import { type FieldError, type ServiceSpec, equalJson, invalid } from '@gantry/objects';
import { type IpFamily, ipFamily } from '../../fields/ip.ts';

/** Families that the cluster has addresses of. */
const CLUSTER_FAMILIES: readonly string[] = ['IPv4'] satisfies IpFamily[];
const POLICY = 'spec.ipFamilyPolicy';

/** Whether others manage the endpoints: such a Service may claim families that the cluster does not have. */
function hasOwnEndpoints({ clusterIP, selector = {} }: ServiceSpec): boolean {
  return clusterIP === 'None' && Object.keys(selector).length === 0;
}

/**
 * What `settleFamilies` found in an update, for `validateClusterFamilies`: the result does not show it. Kubernetes sets and validates
 * families in one pass.
 */
const settled = new WeakMap<ServiceSpec, 'as-before' | 'families-left-out'>();

/** Whether an update leaves a Service as it is that prefers both families: Kubernetes then adds no family, and validates none. */
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
 * Sets the policy and the families that the client left out, as Kubernetes does before it allocates. `old` is the spec before, where
 * there was one: its policy counts on. A family that the cluster does not have is left out, for `validateClusterFamilies` to report.
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
  // Both families are refused where endpoints are the cluster's.
  const isRefused = spec.ipFamilyPolicy === 'RequireDualStack' && !hasOwnEndpoints(spec);
  if (families.length === 0 && addresses.length === 0 && !isRefused) families.push('IPv4');
  const releases = (spec.ipFamilies ?? []).length === 1 && (old?.ipFamilies ?? []).length === 2;
  if (hasOwnEndpoints(spec) && families.length === 1 && !isSingle && !releases) {
    families.push(families[0] === 'IPv4' ? 'IPv6' : 'IPv4');
  }
  spec.ipFamilies = families;
}

/** To ask for one family, and to change nothing else, gives the second one back. */
function releaseSecond(spec: ServiceSpec, old: ServiceSpec): void {
  if (equalJson(spec.clusterIPs ?? [], old.clusterIPs ?? [])) spec.clusterIPs = spec.clusterIPs?.slice(0, 1) ?? [];
  if (equalJson(spec.ipFamilies ?? [], old.ipFamilies ?? [])) spec.ipFamilies = spec.ipFamilies?.slice(0, 1) ?? [];
}

/** What does not fit together, or what the cluster cannot give although it is well said: reported alone, in Kubernetes' order. */
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
    // What the client left out it does not release.
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

/** Addresses whose family is neither said nor one of the cluster's. */
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
