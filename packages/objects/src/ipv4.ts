/** A range of IPv4 addresses as numbers. Empty if `last` is smaller than `first`. */
export interface AddressRange {
  readonly first: number;
  readonly last: number;
}

/** An IPv4 address as a number; undefined for other texts, and for leading zeros, which some programs read as octal. */
export function parseIpv4(text: string): number | undefined {
  if (!/^(0|[1-9]\d{0,2})(\.(0|[1-9]\d{0,2})){3}$/.test(text)) return undefined;
  const octets = text.split('.').map(Number);
  return octets.some((octet) => octet > 255) ? undefined : octets.reduce((sum, octet) => sum * 256 + octet, 0);
}

/** The text of an IPv4 address; inverts `parseIpv4`. */
export function formatIpv4(address: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join('.');
}

/** `10.0.0.0/8` as a range; undefined for other texts. Bits below the prefix are ignored. */
export function parseIpv4Range(text: string): AddressRange | undefined {
  const [address = '', prefix = '', ...rest] = text.split('/');
  const number = parseIpv4(address);
  const bits = Number(prefix);
  if (number === undefined || rest.length > 0 || !/^\d{1,2}$/.test(prefix) || bits > 32) return undefined;
  const size = 2 ** (32 - bits);
  const first = Math.floor(number / size) * size;
  return { first, last: first + size - 1 };
}

/** Whether a text is an address of a range. */
export function isWithin({ first, last }: AddressRange, address: string): boolean {
  const number = parseIpv4(address);
  return number !== undefined && number >= first && number <= last;
}

/** Addresses of the cluster's own Services in the Service range; undefined if it is not an IPv4 range. */
export function ownServiceAddresses(
  serviceCidr: string,
): { readonly kubernetes: string; readonly dns: string } | undefined {
  const range = parseIpv4Range(serviceCidr);
  if (range === undefined) return undefined;
  // The tenth address is that of DNS, as in kubeadm.
  return { kubernetes: formatIpv4(range.first + 1), dns: formatIpv4(range.first + 10) };
}
