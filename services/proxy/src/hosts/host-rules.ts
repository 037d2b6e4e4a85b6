import { must } from '@gantry/base';
import { parseIpv4Range } from '@gantry/objects';
import type { Element, Fragment } from '../rules/fragment.ts';
import type { OtherHost } from './plan-hosts.ts';

/** Where the inner source address is in a UDP packet of VXLAN, in bits: after the headers of UDP, VXLAN, Ethernet, and 12 octets of IPv4. */
const INNER_SOURCE = `@th,${(8 + 8 + 14 + 12) * 8},32`;

/**
 * The part of the table for other hosts: from the address of each, packets of the tunnel are accepted that come from its own range. A host
 * has no other way to send as another one's pod, nor as an API server or a DNS server.
 */
export function planHostRules(hosts: readonly OtherHost[]): Fragment {
  const elements: Element[] = [];
  const chains = new Map<string, readonly string[]>();
  for (const { address, cidr } of hosts) {
    const chain = `tunnel-from/${address}`;
    const { first, last } = must(parseIpv4Range(cidr), 'the range of a host');
    const mask = 2 ** 32 - (last - first + 1);
    chains.set(chain, [`${INNER_SOURCE} & 0x${hex(mask)} == 0x${hex(first)} accept`, 'drop']);
    elements.push({ container: 'tunnel-sources', key: address, value: `goto ${chain}` });
    elements.push({ container: 'other-hosts', key: cidr, value: '' });
  }
  return { elements, chains, sets: new Map() };
}

function hex(number: number): string {
  return number.toString(16).padStart(8, '0');
}
