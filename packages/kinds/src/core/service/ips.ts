import { append } from '@gantry/base';
import { duplicate, type FieldError, invalid, oneOf, repeatedAt, type ServiceSpec } from '@gantry/objects';
import { ipFamily, validateIp } from '../../fields/ip.ts';

const FAMILIES = ['IPv4', 'IPv6'];
const FAMILY_POLICIES = ['PreferDualStack', 'RequireDualStack', 'SingleStack'];

export function isHeadless(spec: ServiceSpec): boolean {
  return spec.clusterIP === 'None' || (spec.clusterIPs?.length === 1 && spec.clusterIPs[0] === 'None');
}

/**
 * Checks `clusterIP`, `clusterIPs`, `ipFamilies` and `ipFamilyPolicy`. Kubernetes checks them before it allocates addresses: if there are
 * errors, nothing else is reported.
 */
export function validateClusterIps(spec: ServiceSpec): FieldError[] {
  if (spec.type === 'ExternalName') return [];
  const { clusterIP = '', clusterIPs = [], ipFamilies = [], ipFamilyPolicy } = spec;
  const path = 'spec.clusterIPs';
  const errors: FieldError[] = [];
  if (clusterIPs.length > 0 && clusterIP === '') {
    errors.push(invalid(path, clusterIPs, 'must be empty when `clusterIP` is not specified'));
  } else if (clusterIPs.length > 0 && clusterIPs[0] !== clusterIP) {
    errors.push(invalid(path, clusterIPs, 'first value must match `clusterIP`'));
  }
  const isRepeated = repeatedAt(ipFamilies);
  ipFamilies.forEach((family, i) => {
    append(errors, oneOf(`spec.ipFamilies[${i}]`, family, FAMILIES));
    if (isRepeated(i)) errors.push(duplicate(`spec.ipFamilies[${i}]`, family));
  });
  append(errors, oneOf('spec.ipFamilyPolicy', ipFamilyPolicy, FAMILY_POLICIES));
  const { errors: faults, usable } = validateAddresses(clusterIPs, path);
  append(errors, faults);
  return usable === 'no' ? errors : [...errors, ...validateFamilies(spec, path)];
}

function validateAddresses(
  clusterIPs: readonly string[],
  path: string,
): { errors: FieldError[]; usable: 'yes' | 'no' } {
  const errors: FieldError[] = [];
  clusterIPs.forEach((address, i) => {
    if (i > 0 || address !== 'None') append(errors, validateIp(address, `${path}[${i}]`));
    else if (clusterIPs.length > 1) errors.push(invalid(path, clusterIPs, "'None' must be the first and only value"));
  });
  const usable = errors.length === 0 ? 'yes' : 'no';
  if (clusterIPs.length > 2) errors.push(invalid(path, clusterIPs, 'may only hold up to 2 values'));
  return { errors, usable };
}

function validateFamilies({ clusterIPs = [], ipFamilies = [] }: ServiceSpec, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const found = clusterIPs.map((address) => ipFamily(address));
  if (found.length > 1 && new Set(found).size < 2) {
    errors.push(invalid(path, clusterIPs, 'may specify no more than one IP for each IP family'));
  }
  clusterIPs.forEach((address, i) => {
    const expected = ipFamilies[i];
    if (address === 'None' || expected === undefined || expected === found[i] || !FAMILIES.includes(expected)) return;
    errors.push(
      invalid(`${path}[${i}]`, address, `expected an ${expected} value as indicated by \`ipFamilies[${i}]\``),
    );
  });
  return errors;
}
