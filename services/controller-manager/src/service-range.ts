import { ownServiceAddresses, parseIpv4Range } from '@gantry/objects';
import { ConfigError } from '@gantry/service';

/** Addresses of a range with the prefix 30, and with 8. */
const MIN_SIZE = 2 ** 2;
const MAX_SIZE = 2 ** 24;

/** The first address of an IPv4 range that a Service can have: that of `default/kubernetes`. Throws ConfigError. */
export function firstAddress(cidr: string): string {
  const range = parseIpv4Range(cidr);
  const size = range === undefined ? 0 : range.last - range.first + 1;
  const own = ownServiceAddresses(cidr);
  if (own !== undefined && size >= MIN_SIZE && size <= MAX_SIZE) return own.kubernetes;
  throw new ConfigError('GANTRY_SERVICE_CIDR', `"${cidr}" is no IPv4 range of /8 to /30`);
}
