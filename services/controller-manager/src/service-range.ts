import { ConfigError } from '@gantry/service';

/** The first address of an IPv4 range that a Service can have: that of `default/kubernetes`. Throws ConfigError. */
export function firstAddress(cidr: string): string {
  const match = /^(\d+)\.(\d+)\.(\d+)\.(\d+)\/(\d+)$/.exec(cidr);
  const octets = match?.slice(1, 5).map(Number) ?? [];
  const bits = Number(match?.[5] ?? -1);
  if (octets.length !== 4 || octets.some((octet) => octet > 255) || bits < 8 || bits > 30) {
    throw new ConfigError('GANTRY_SERVICE_CIDR', `"${cidr}" is no IPv4 range of /8 to /30`);
  }
  const network = octets.reduce((sum, octet) => sum * 256 + octet, 0);
  const first = Math.floor(network / 2 ** (32 - bits)) * 2 ** (32 - bits) + 1;
  return [24, 16, 8, 0].map((shift) => Math.floor(first / 2 ** shift) % 256).join('.');
}
