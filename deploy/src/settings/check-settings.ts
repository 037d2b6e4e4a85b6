import { CLOSED_RANGES, defaultClusterCidr, isWithin, parseIpv4Range } from '@gantry/objects';
import { CommandError } from '../machine/command-error.ts';
import type { Settings } from './choose-settings.ts';
import { type Cidr, contains } from './ranges.ts';

/** By how many bits the prefix of the range of all pods may be shorter than that of one host's: the controller-manager keeps a list of them. */
const MAX_BITS = 16;
const FIX =
  'set GANTRY_CLUSTER_CIDR to a range that contains it, or to nothing for the /16 around it: GANTRY_CLUSTER_CIDR= npm run up';

/**
 * Refuses settings with which the controller-manager, the proxy or the DNS would not start: ranges that are none, a range of the
 * cluster without that of this host's pods, or an address of the host inside of a range of the cluster. CommandError names the variable.
 */
export function checkSettings(settings: Settings): void {
  const { clusterCidr, podCidr, controlCidr, serviceCidr, hostAddress } = settings;
  const ranges = {
    GANTRY_POD_CIDR: podCidr,
    GANTRY_CONTROL_CIDR: controlCidr,
    GANTRY_SERVICE_CIDR: serviceCidr,
    GANTRY_CLUSTER_CIDR: clusterCidr === '' ? defaultClusterCidr(podCidr) : clusterCidr,
  };
  for (const [variable, range] of Object.entries(ranges)) {
    if (parseIpv4Range(range) === undefined)
      throw new CommandError(`${variable}: ${JSON.stringify(range)} is not an IPv4 range`);
  }
  const whole = ranges.GANTRY_CLUSTER_CIDR;
  if (!contains(whole, podCidr))
    throw new CommandError(
      `GANTRY_CLUSTER_CIDR: ${whole} does not contain ${podCidr}, the range of this host's pods (GANTRY_POD_CIDR)`,
      FIX,
    );
  if (prefixOf(podCidr) - prefixOf(whole) > MAX_BITS)
    throw new CommandError(`GANTRY_CLUSTER_CIDR: ${whole} has more than 65536 ranges of the size of ${podCidr}`, FIX);
  checkHostAddress(hostAddress, [whole, controlCidr, serviceCidr]);
}

function checkHostAddress(address: string, cidrs: readonly Cidr[]): void {
  if (address === '') return;
  const closed = [...cidrs, ...CLOSED_RANGES].flatMap((cidr) => parseIpv4Range(cidr) ?? []);
  if (closed.some((range) => isWithin(range, address)))
    throw new CommandError(
      `GANTRY_HOST_ADDRESS: other hosts do not reach this one at ${address}`,
      `choose an address of this machine that is not in ${cidrs.join(', ')}`,
    );
}

const prefixOf = (cidr: Cidr) => Number(cidr.split('/')[1]);
