import { isIPv6 } from 'node:net';
import { declareFunction as declare, type FunctionDeclaration } from '../environment/function-declaration.ts';
import { type CelType, opaqueOf } from '../types.ts';
import { CelError, CelOpaque, type CelResult, type CelValue, isError } from '../values/value.ts';

const IP_TYPE = opaqueOf('net.IP');
const CIDR_TYPE = opaqueOf('net.CIDR');

/** An IP address as bits. */
class IpValue extends CelOpaque {
  readonly type: CelType = IP_TYPE;
  readonly bits: bigint;
  readonly family: 4 | 6;

  constructor(bits: bigint, family: 4 | 6) {
    super();
    this.bits = bits;
    this.family = family;
  }

  override get size(): number {
    return this.width / 8;
  }

  get width(): number {
    return this.family === 4 ? 32 : 128;
  }

  equals(other: CelOpaque): boolean {
    return other instanceof IpValue && other.family === this.family && other.bits === this.bits;
  }

  override toString(): string {
    return this.family === 4 ? formatIpv4(this.bits) : formatIpv6(this.bits);
  }
}

/** An address with the length of its network prefix. */
class CidrValue extends CelOpaque {
  readonly type: CelType = CIDR_TYPE;
  readonly ip: IpValue;
  readonly prefix: number;

  constructor(ip: IpValue, prefix: number) {
    super();
    this.ip = ip;
    this.prefix = prefix;
  }

  override get size(): number {
    return Math.ceil(this.prefix / 8);
  }

  equals(other: CelOpaque): boolean {
    return other instanceof CidrValue && other.prefix === this.prefix && other.ip.equals(this.ip);
  }

  masked(): CidrValue {
    const hostBits = BigInt(this.ip.width - this.prefix);
    return new CidrValue(new IpValue((this.ip.bits >> hostBits) << hostBits, this.ip.family), this.prefix);
  }

  contains(ip: IpValue): boolean {
    const hostBits = BigInt(this.ip.width - this.prefix);
    return ip.family === this.ip.family && ip.bits >> hostBits === this.ip.bits >> hostBits;
  }

  override toString(): string {
    return `${this.ip.toString()}/${this.prefix}`;
  }
}

const formatIpv4 = (bits: bigint) => [24n, 16n, 8n, 0n].map((shift) => (bits >> shift) & 255n).join('.');

function formatIpv6(bits: bigint): string {
  const groups = Array.from({ length: 8 }, (_, index) => ((bits >> BigInt(112 - index * 16)) & 0xffffn).toString(16));
  let [start, length] = [-1, 1];
  for (let from = 0; from < 8; from++) {
    let to = from;
    while (groups[to] === '0') to++;
    if (to - from > length) [start, length] = [from, to - from];
  }
  if (start < 0) return groups.join(':');
  return `${groups.slice(0, start).join(':')}::${groups.slice(start + length).join(':')}`;
}

function parseIp(text: string): IpValue | string {
  const quoted = JSON.stringify(text);
  const bad = (why: string) =>
    `IP Address ${quoted} parse error during conversion from string: ParseAddr(${quoted}): ${why}`;
  if (text.includes('%')) return `IP address ${quoted} with zone value is not allowed`;
  if (text.includes(':')) {
    if (!isIPv6(text)) return bad('unable to parse IP');
    const bits = parseIpv6(text);
    if (bits >> 32n === 0xffffn) return `IPv4-mapped IPv6 address ${quoted} is not allowed`;
    return new IpValue(bits, 6);
  }
  if (!text.includes('.')) return bad('unable to parse IP');
  const fields = text.split('.');
  let bits = 0n;
  for (const field of fields) {
    if (field === '' || fields.length > 4)
      return bad(fields.length > 4 ? 'IPv4 address too long' : 'IPv4 field must have at least one digit');
    if (!/^\d+$/.test(field)) return bad('unexpected character');
    if (field.length > 1 && field.startsWith('0')) return bad('IPv4 field has octet with leading zero');
    if (Number(field) > 255) return bad('IPv4 field has value >255');
    bits = (bits << 8n) | BigInt(field);
  }
  return fields.length === 4 ? new IpValue(bits, 4) : bad('IPv4 address too short');
}

function parseIpv6(text: string): bigint {
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(text);
  const hex = (high: string | undefined, low: string | undefined) => ((Number(high) << 8) | Number(low)).toString(16);
  const plain = dotted === null ? text : `${dotted[1]}${hex(dotted[2], dotted[3])}:${hex(dotted[4], dotted[5])}`;
  const [head = '', tail] = plain.split('::');
  const groups = (part: string) => (part === '' ? [] : part.split(':'));
  const [left, right] = [groups(head), groups(tail ?? '')];
  const all = [...left, ...Array<string>(tail === undefined ? 0 : 8 - left.length - right.length).fill('0'), ...right];
  return all.reduce((bits, group) => (bits << 16n) | BigInt(`0x${group}`), 0n);
}

function parseCidr(text: string): CidrValue | string {
  const quoted = JSON.stringify(text);
  const bad = (why: string) =>
    `network address parse error during conversion from string: netip.ParsePrefix(${quoted}): ${why}`;
  const slash = text.lastIndexOf('/');
  if (slash < 0) return bad("no '/'");
  const address = text.slice(0, slash);
  const ip = parseIp(address);
  if (typeof ip === 'string') {
    if (ip.startsWith('IPv4-mapped')) return `IPv4-mapped IPv6 address ${quoted} is not allowed`;
    return bad(/ParseAddr\(.*$/.exec(ip)?.[0] ?? 'IPv6 zones cannot be present in a prefix');
  }
  const prefix = text.slice(slash + 1);
  if (!/^(?:0|[1-9]\d*)$/.test(prefix)) return bad(`bad bits after slash: ${JSON.stringify(prefix)}`);
  return Number(prefix) > ip.width ? bad('prefix length out of range') : new CidrValue(ip, Number(prefix));
}

function toIp(value: CelValue): CelResult {
  const parsed = parseIp(value as string);
  return typeof parsed === 'string' ? new CelError(parsed) : parsed;
}

function toCidr(value: CelValue): CelResult {
  const parsed = parseCidr(value as string);
  if (typeof parsed !== 'string') return parsed;
  return new CelError(`network address parse error during conversion from string: ${parsed}`);
}

const onIp = (read: (ip: IpValue) => CelResult) => (value: CelValue) => read(value as IpValue);
const onCidr = (read: (cidr: CidrValue) => CelResult) => (value: CelValue) => read(value as CidrValue);

function containsIp(cidr: CelValue, other: CelValue): CelResult {
  const ip = other instanceof IpValue ? other : toIp(other);
  if (isError(ip)) return ip;
  return ip instanceof IpValue && (cidr as CidrValue).contains(ip);
}

function containsCidr(cidr: CelValue, other: CelValue): CelResult {
  const inner = other instanceof CidrValue ? other : toCidr(other);
  if (isError(inner)) return inner;
  const outer = cidr as CidrValue;
  return inner instanceof CidrValue && outer.contains(inner.ip) && outer.prefix <= inner.prefix;
}

const isV4 = (ip: IpValue, shift: bigint, value: bigint) => ip.family === 4 && ip.bits >> shift === value;
const isLoopback = (ip: IpValue) => isV4(ip, 24n, 127n) || (ip.family === 6 && ip.bits === 1n);
const isUnspecified = (ip: IpValue) => ip.bits === 0n;
const isMulticast = (ip: IpValue) => isV4(ip, 28n, 0xen) || (ip.family === 6 && ip.bits >> 120n === 0xffn);
const isLinkLocal = (ip: IpValue) => isV4(ip, 16n, 0xa9fen) || (ip.family === 6 && ip.bits >> 118n === 0x3fan);
const isLinkLocalMulticast = (ip: IpValue) =>
  isV4(ip, 8n, 0xe00000n) || (ip.family === 6 && ((ip.bits >> 112n) & 0xff0fn) === 0xff02n);
const isGlobalUnicast = (ip: IpValue) =>
  !isUnspecified(ip) && !isLoopback(ip) && !isMulticast(ip) && !isLinkLocal(ip) && !isV4(ip, 0n, 0xffffffffn);

const test = (name: string, id: string, holds: (ip: IpValue) => boolean) =>
  declare(name, [id, 'net.IP.() -> bool', onIp(holds)]);

/** The functions of `net.IP` and `net.CIDR`. */
export const ADDRESSES: readonly FunctionDeclaration[] = [
  declare(
    'ip',
    ['string_to_ip', '(string) -> net.IP', toIp],
    ['cidr_ip', 'net.CIDR.() -> net.IP', onCidr((cidr) => cidr.ip)],
  ),
  declare('isIP', ['is_ip', '(string) -> bool', (text) => !isError(toIp(text))]),
  declare('ip.isCanonical', [
    'ip_is_canonical',
    '(string) -> bool',
    (text) => {
      const ip = toIp(text);
      return isError(ip) ? ip : String(ip) === text;
    },
  ]),
  declare('family', ['ip_family', 'net.IP.() -> int', onIp((ip) => BigInt(ip.family))]),
  test('isUnspecified', 'ip_is_unspecified', isUnspecified),
  test('isLoopback', 'ip_is_loopback', isLoopback),
  test('isLinkLocalMulticast', 'ip_is_link_local_multicast', isLinkLocalMulticast),
  test('isLinkLocalUnicast', 'ip_is_link_local_unicast', isLinkLocal),
  test('isGlobalUnicast', 'ip_is_global_unicast', isGlobalUnicast),
  declare('cidr', ['string_to_cidr', '(string) -> net.CIDR', toCidr]),
  declare('isCIDR', ['is_cidr', '(string) -> bool', (text) => !isError(toCidr(text))]),
  declare(
    'containsIP',
    ['cidr_contains_ip_ip', 'net.CIDR.(net.IP) -> bool', containsIp],
    ['cidr_contains_ip_string', 'net.CIDR.(string) -> bool', containsIp],
  ),
  declare(
    'containsCIDR',
    ['cidr_contains_cidr', 'net.CIDR.(net.CIDR) -> bool', containsCidr],
    ['cidr_contains_cidr_string', 'net.CIDR.(string) -> bool', containsCidr],
  ),
  declare('masked', ['cidr_masked', 'net.CIDR.() -> net.CIDR', onCidr((cidr) => cidr.masked())]),
  declare('prefixLength', ['cidr_prefix_length', 'net.CIDR.() -> int', onCidr((cidr) => BigInt(cidr.prefix))]),
  declare(
    'string',
    ['ip_to_string', '(net.IP) -> string', onIp(String)],
    ['cidr_to_string', '(net.CIDR) -> string', onCidr(String)],
  ),
];
