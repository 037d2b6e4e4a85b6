import { lookup as resolve } from 'node:dns';
import { BlockList, isIP, isIPv4, type LookupFunction } from 'node:net';
import { networkInterfaces, type NetworkInterfaceInfo } from 'node:os';
import { CLOSED_RANGES } from '@gantry/objects';
import { AgentError } from '../../runtime/agent-error.ts';
import type { ProbeTarget } from './probe-type.ts';

/** Addresses of the agent itself and link-local addresses: the IPv6 equivalent of `CLOSED_RANGES`. */
const CLOSED_IPV6_RANGES: readonly string[] = ['::/127', 'fe80::/10'];

/**
 * Restricts the `host` of a probe. An agent is on a network that pods cannot reach, and must not give them access to it. So for a pod
 * with its own network, the host must not be on that network, be the agent itself, or be in `CLOSED_RANGES`, whatever its name resolves
 * to.
 */
export function probeLookup(
  { address, network }: Pick<ProbeTarget, 'address' | 'network'>,
  interfaces: Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>> = networkInterfaces(),
): { readonly check: (host: string) => void; readonly lookup: LookupFunction } {
  const closed = network === 'host' ? new BlockList() : closedAddresses(address, interfaces);
  const check = (host: string) => {
    const version = isIP(host);
    if (version !== 0 && closed.check(host, version === 4 ? 'ipv4' : 'ipv6')) throw refused(host);
  };
  const lookup: LookupFunction = (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, found) => {
      const [first] = found ?? [];
      if (error !== null || first === undefined) {
        callback(error, '');
        return;
      }
      const bad = found.find((one) => closed.check(one.address, one.family === 4 ? 'ipv4' : 'ipv6'));
      if (bad !== undefined) callback(refused(bad.address), '');
      else if (options.all === true) callback(null, found);
      else callback(null, first.address, first.family);
    });
  };
  return { check, lookup };
}

function closedAddresses(
  address: string,
  interfaces: Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>,
): BlockList {
  const closed = new BlockList();
  for (const range of [...CLOSED_RANGES, ...CLOSED_IPV6_RANGES]) {
    const [network = '', prefix] = range.split('/');
    closed.addSubnet(network, Number(prefix), isIPv4(network) ? 'ipv4' : 'ipv6');
  }
  for (const { cidr, family } of Object.values(interfaces).flatMap((addresses) => addresses ?? [])) {
    const [network, prefix] = cidr?.split('/') ?? [];
    if (network === undefined || prefix === undefined) continue;
    const type = family === 'IPv4' ? 'ipv4' : 'ipv6';
    const own = new BlockList();
    own.addSubnet(network, Number(prefix), type);
    // Keep the pods' own network reachable.
    if (isIP(address) === 0 || !own.check(address)) closed.addSubnet(network, Number(prefix), type);
  }
  return closed;
}

function refused(address: string): AgentError {
  return new AgentError('Runtime', `probes of this pod may not reach ${address}`);
}
