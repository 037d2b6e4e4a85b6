import { BlockList } from 'node:net';
import { networkInterfaces } from 'node:os';

/** The address of this process in a range; undefined when it has none there. */
export function addressWithin(cidr: string): string | undefined {
  const [network = '', bits = '32'] = cidr.split('/');
  const range = new BlockList();
  range.addSubnet(network, Number(bits), 'ipv4');
  const addresses = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  return addresses.find(({ family, address }) => family === 'IPv4' && range.check(address, 'ipv4'))?.address;
}
