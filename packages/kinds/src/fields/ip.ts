import { type FieldError, invalid } from '@gantry/objects';

const IP_MESSAGE = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)';
const CIDR_MESSAGE = 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)';
const CANONICAL_IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;
/** The prefix of an IPv4 address in IPv6 form. */
const MAPPED = 0xffffn << 32n;

export type IpFamily = 'IPv4' | 'IPv6';

/** An IP address and the form in which it was written. An IPv4 address in IPv6 form has family IPv4. */
interface ParsedIp {
  readonly family: IpFamily;
  readonly value: bigint;
  readonly form: 'plain' | 'leadingZeros' | 'mapped';
}

/** A range of addresses: all that share the first `length` bits of `ip`. */
interface ParsedCidr {
  readonly ip: ParsedIp;
  readonly length: number;
  readonly form: 'plain' | 'leadingZeros';
}

/** Parses an address as Kubernetes always did: leading zeros are allowed. */
function parseIp(text: string): ParsedIp | undefined {
  return text.includes(':') ? parseIpv6(text) : parseIpv4(text);
}

function parseIpv4(text: string): ParsedIp | undefined {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => /^\d+$/.test(part) && Number(part) < 256)) return undefined;
  const value = parts.reduce((sum, part) => sum * 256n + BigInt(part), 0n);
  return { family: 'IPv4', value, form: parts.some((part) => /^0\d/.test(part)) ? 'leadingZeros' : 'plain' };
}

function parseIpv6(text: string): ParsedIp | undefined {
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const groups = halves.map((half) => (half === '' ? [] : half.split(':')));
  const last = groups.at(-1)?.at(-1) ?? '';
  const embedded = last.includes('.') ? parseIpv4(last) : undefined;
  if (last.includes('.') && embedded === undefined) return undefined;
  if (embedded !== undefined) {
    groups.at(-1)?.splice(-1, 1, (embedded.value >> 16n).toString(16), (embedded.value & 0xffffn).toString(16));
  }
  const flat = groups.flat();
  if (!flat.every((group) => /^[0-9a-fA-F]+$/.test(group) && Number.parseInt(group, 16) <= 0xffff)) return undefined;
  if (halves.length === 2 ? flat.length > 7 : flat.length !== 8) return undefined;
  const [head = [], tail = []] = groups;
  const full = halves.length === 2 ? [...head, ...Array<string>(8 - flat.length).fill('0'), ...tail] : flat;
  const value = full.reduce((sum, group) => (sum << 16n) | BigInt(`0x${group}`), 0n);
  if (value >> 32n === MAPPED >> 32n) return { family: 'IPv4', value: value & 0xffffffffn, form: 'mapped' };
  const zeros = embedded?.form === 'leadingZeros' || flat.some((group) => group.length > 4);
  return { family: 'IPv6', value, form: zeros ? 'leadingZeros' : 'plain' };
}

function parseCidr(text: string): ParsedCidr | undefined {
  const slash = text.indexOf('/');
  const ip = slash < 0 ? undefined : parseIp(text.slice(0, slash));
  const bits = text.slice(slash + 1);
  if (ip === undefined || !/^\d+$/.test(bits)) return undefined;
  const length = Number(bits);
  const max = ip.family === 'IPv4' && ip.form !== 'mapped' ? 32 : 128;
  if (length > max) return undefined;
  return { ip, length, form: /^0\d/.test(bits) || ip.form === 'leadingZeros' ? 'leadingZeros' : 'plain' };
}

function bitsOf({ family }: ParsedIp): number {
  return family === 'IPv4' ? 32 : 128;
}

/** The prefix length within its family. */
function lengthIn({ ip, length }: ParsedCidr): number {
  return ip.form === 'mapped' ? Math.max(0, length - 96) : length;
}

function masked(cidr: ParsedCidr): bigint {
  const host = BigInt(bitsOf(cidr.ip) - lengthIn(cidr));
  return (cidr.ip.value >> host) << host;
}

/** The canonical form of an address: dotted decimal, or RFC 5952. */
function format(family: IpFamily, value: bigint): string {
  if (family === 'IPv4') return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 0xffn).join('.');
  const groups = Array.from({ length: 8 }, (_, i) => ((value >> BigInt(112 - 16 * i)) & 0xffffn).toString(16));
  const run = longestZeros(groups);
  if (run.length < 2) return groups.join(':');
  return `${groups.slice(0, run.start).join(':')}::${groups.slice(run.start + run.length).join(':')}`;
}

function longestZeros(groups: readonly string[]): { start: number; length: number } {
  let best = { start: 0, length: 0 };
  let start = 0;
  groups.forEach((group, i) => {
    if (group !== '0') start = i + 1;
    else if (i + 1 - start > best.length) best = { start, length: i + 1 - start };
  });
  return best;
}

function formatCidr(cidr: ParsedCidr): string {
  return `${format(cidr.ip.family, masked(cidr))}/${lengthIn(cidr)}`;
}

/** The family of an IP address in text form; undefined for other texts. */
export function ipFamily(text: string): IpFamily | undefined {
  return parseIp(text)?.family;
}

/** An address in canonical form, with its family; undefined for other texts. Leading zeros are allowed. */
export function canonicalIp(text: string): { readonly family: IpFamily; readonly text: string } | undefined {
  // Nearly all addresses have this form, and big integers are expensive.
  if (CANONICAL_IPV4.test(text)) return { family: 'IPv4', text };
  const ip = parseIp(text);
  return ip === undefined ? undefined : { family: ip.family, text: format(ip.family, ip.value) };
}

/** The family of a CIDR (`10.0.0.0/8`); undefined for other texts. */
export function cidrFamily(text: string): IpFamily | undefined {
  return parseCidr(text)?.ip.family;
}

/** Checks an address that need not be canonical, for older fields. Addresses in `kept` are accepted. */
export function validateIp(text: string, path: string, kept: readonly string[] = []): FieldError[] {
  if (kept.includes(text)) return [];
  const ip = parseIp(text);
  if (ip === undefined) return [invalid(path, text, IP_MESSAGE)];
  if (ip.form === 'leadingZeros') return [invalid(path, text, 'must not have leading 0s')];
  return ip.form === 'mapped' ? [invalid(path, text, 'must not be an IPv4-mapped IPv6 address')] : [];
}

/** Checks an address that must be canonical. */
export function validateCanonicalIp(text: string, path: string): FieldError[] {
  const errors = validateIp(text, path);
  const ip = parseIp(text);
  if (errors.length > 0 || ip === undefined) return errors;
  return mustRead(text, format(ip.family, ip.value), path);
}

/** Checks a CIDR that need not be canonical, for older fields. CIDRs in `kept` are accepted. */
export function validateCidr(text: string, path: string, kept: readonly string[] = []): FieldError[] {
  if (kept.includes(text)) return [];
  const cidr = parseCidr(text);
  if (cidr === undefined) return [invalid(path, text, CIDR_MESSAGE)];
  if (cidr.form === 'leadingZeros') return [invalid(path, text, 'must not have leading 0s in IP or prefix length')];
  if (cidr.ip.form === 'mapped') return [invalid(path, text, 'must not have an IPv4-mapped IPv6 address')];
  return masked(cidr) === cidr.ip.value ? [] : [invalid(path, text, 'must not have bits set beyond the prefix length')];
}

/** Checks a CIDR that must be canonical. */
export function validateCanonicalCidr(text: string, path: string): FieldError[] {
  const errors = validateCidr(text, path);
  const cidr = parseCidr(text);
  if (errors.length > 0 || cidr === undefined) return errors;
  return mustRead(text, formatCidr(cidr), path);
}

function mustRead(text: string, canonical: string, path: string): FieldError[] {
  return text === canonical ? [] : [invalid(path, text, `must be in canonical form (${JSON.stringify(canonical)})`)];
}

/** Whether `inner` is a proper subset of `outer`. Both are CIDRs. */
export function isStrictSubset(inner: string, outer: string): boolean {
  const [a, b] = [parseCidr(inner), parseCidr(outer)];
  if (a === undefined || b === undefined || a.ip.family !== b.ip.family) return false;
  const host = BigInt(bitsOf(b.ip) - lengthIn(b));
  return a.length > b.length && masked(a) >> host === b.ip.value >> host;
}

/** Whether the range contains the address. */
function contains(range: ParsedCidr, ip: ParsedIp): boolean {
  if (range.ip.family !== ip.family) return false;
  const host = BigInt(bitsOf(range.ip) - lengthIn(range));
  return range.ip.value >> host === ip.value >> host;
}

/** Ranges of addresses that are only valid on one machine or network, and their descriptions. Parsed once: lists of addresses are long. */
const UNREACHABLE = [
  { name: 'loopback', ranges: ['127.0.0.0/8', '::1/128'], said: '127.0.0.0/8, ::1/128' },
  { name: 'link-local', ranges: ['169.254.0.0/16', 'fe80::/10'], said: '169.254.0.0/16, fe80::/10' },
  { name: 'link-local multicast', ranges: ['224.0.0.0/24', 'ff02::/16'], said: '224.0.0.0/24, ff02::/10' },
].map(({ ranges, ...rest }) => ({ ...rest, ranges: ranges.flatMap((range) => parseCidr(range) ?? []) }));

/** Checks an endpoint address: it must not be one that is only valid on one machine. */
export function validateEndpointIp(text: string, path: string): FieldError[] {
  const ip = parseIp(text);
  if (ip === undefined) return [invalid(path, text, 'must be a valid IP address')];
  const errors: FieldError[] = [];
  if (ip.value === 0n) errors.push(invalid(path, text, `may not be unspecified (${text})`));
  for (const { name, ranges, said } of UNREACHABLE) {
    if (!ranges.some((range) => contains(range, ip))) continue;
    errors.push(invalid(path, text, `may not be in the ${name} range (${said})`));
  }
  return errors;
}

/** Warnings about a valid address that is not canonical. */
export function ipWarnings(text: string, path: string): string[] {
  if (CANONICAL_IPV4.test(text)) return [];
  const ip = parseIp(text);
  if (ip === undefined) return [];
  const canonical = format(ip.family, ip.value);
  if (ip.form !== 'plain') {
    return [`${path}: non-standard IP address ${quote(text)} is invalid: use ${quote(canonical)}`];
  }
  return ip.family === 'IPv4' || canonical === text
    ? []
    : [`${path}: IPv6 address ${quote(text)} should be in RFC 5952 canonical format (${quote(canonical)})`];
}

/** The same for a CIDR. */
export function cidrWarnings(text: string, path: string): string[] {
  const cidr = parseCidr(text);
  if (cidr === undefined) return [];
  const { ip } = cidr;
  const canonical = formatCidr(cidr);
  const warnings: string[] = [];
  if (masked(cidr) !== ip.value) {
    const single = `${format(ip.family, ip.value)}/${bitsOf(ip)}`;
    const use = `should be ${quote(canonical)} or ${quote(single)}?`;
    warnings.push(`${path}: CIDR value ${quote(text)} is ambiguous in this context (${use})`);
  }
  if (cidr.form !== 'plain' || ip.form === 'mapped') {
    warnings.push(`${path}: non-standard CIDR value ${quote(text)} is invalid: use ${quote(canonical)}`);
  }
  if (warnings.length === 0 && ip.family === 'IPv6' && canonical !== text) {
    warnings.push(
      `${path}: IPv6 CIDR value ${quote(text)} should be in RFC 5952 canonical format (${quote(canonical)})`,
    );
  }
  return warnings;
}

function quote(text: string): string {
  return JSON.stringify(text);
}

/** Warnings about the load balancer addresses of an Ingress or a Service. */
export function loadBalancerWarnings({
  status,
}: {
  readonly status?: { readonly loadBalancer?: { readonly ingress?: readonly { readonly ip?: string }[] } };
}): string[] {
  return (status?.loadBalancer?.ingress ?? []).flatMap(({ ip = '' }, i) =>
    ip === '' ? [] : ipWarnings(ip, `status.loadBalancer.ingress[${i}]`),
  );
}
