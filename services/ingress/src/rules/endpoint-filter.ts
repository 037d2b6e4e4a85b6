import { BlockList, isIPv4 } from 'node:net';
import { CLOSED_RANGES } from '@gantry/objects';

/** Whether an address may be an endpoint: outside of `CLOSED_RANGES`, and of `others`, which are further ranges and addresses. */
export function endpointFilter(others: readonly string[]): (address: string) => boolean {
  const closed = new BlockList();
  for (const range of [...CLOSED_RANGES, ...others]) {
    const [address = '', bits = '32'] = range.split('/');
    closed.addSubnet(address, Number(bits), 'ipv4');
  }
  return (address) => isIPv4(address) && !closed.check(address, 'ipv4');
}
