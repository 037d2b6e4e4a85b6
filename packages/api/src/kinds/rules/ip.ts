import { type FieldError, invalid } from '../../field-error.ts';

const IPV4_PART = /^(0|[1-9]\d{0,2})$/;
const IP_MESSAGE = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)';
const CIDR_MESSAGE = 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)';

export type IpFamily = 'IPv4' | 'IPv6';

/** The family of an IP address in its text form, undefined when the text is none. */
export function ipFamily(text: string): IpFamily | undefined {
  if (text.includes(':')) return isIpv6(text) ? 'IPv6' : undefined;
  const parts = text.split('.');
  return parts.length === 4 && parts.every((part) => IPV4_PART.test(part) && Number(part) < 256) ? 'IPv4' : undefined;
}

function isIpv6(text: string): boolean {
  const halves = text.split('::');
  if (halves.length > 2) return false;
  const groups = halves.map((half) => (half === '' ? [] : half.split(':')));
  const flat = groups.flat();
  const last = flat.at(-1) ?? '';
  const embedded = last.includes('.');
  if (embedded && ipFamily(last) !== 'IPv4') return false;
  const hex = embedded ? flat.slice(0, -1) : flat;
  if (!hex.every((group) => /^[0-9a-fA-F]{1,4}$/.test(group))) return false;
  const count = hex.length + (embedded ? 2 : 0);
  return halves.length === 2 ? count < 8 : count === 8;
}

/** The family of a CIDR (`10.0.0.0/8`), undefined when the text is none. */
export function cidrFamily(text: string): IpFamily | undefined {
  const slash = text.indexOf('/');
  if (slash < 0) return undefined;
  const family = ipFamily(text.slice(0, slash));
  const bits = text.slice(slash + 1);
  if (family === undefined || !/^\d{1,3}$/.test(bits)) return undefined;
  return Number(bits) <= (family === 'IPv4' ? 32 : 128) ? family : undefined;
}

export function validateIp(text: string, path: string): FieldError[] {
  return ipFamily(text) === undefined ? [invalid(path, text, IP_MESSAGE)] : [];
}

export function validateCidr(text: string, path: string): FieldError[] {
  return cidrFamily(text) === undefined ? [invalid(path, text, CIDR_MESSAGE)] : [];
}
