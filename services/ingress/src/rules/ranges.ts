import { BlockList, isIPv4 } from 'node:net';

/** Metadata services of clouds beside those with a link-local address: of Alibaba Cloud, Azure and Oracle Cloud. */
const METADATA = ['100.100.100.200', '168.63.129.16', '192.0.0.192'];

/**
 * No endpoint is served here, whatever slices say: this network, loopback, link-local addresses and others of metadata services, and
 * multicast. The API refuses most of these as endpoints too.
 */
const CLOSED = ['0.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '224.0.0.0/4', '240.0.0.0/4', ...METADATA];

/** Whether an address may be an endpoint; `others` are further ranges and addresses that may not. */
export function endpointFilter(others: readonly string[]): (address: string) => boolean {
  const closed = new BlockList();
  for (const range of [...CLOSED, ...others]) {
    const [address = '', bits = '32'] = range.split('/');
    closed.addSubnet(address, Number(bits), 'ipv4');
  }
  return (address) => isIPv4(address) && !closed.check(address, 'ipv4');
}
