import { networkInterfaces } from 'node:os';
import { BlockList } from 'node:net';

/**
 * The address at which others reach this process: on the pod network when it is there, since pods must reach it, else the first that
 * leads out of the machine. Undefined when there is none.
 */
export function ownAddress(podRange: string): string | undefined {
  const [network = '', bits = '32'] = podRange.split('/');
  const pods = new BlockList();
  pods.addSubnet(network, Number(bits), 'ipv4');
  const outward = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ family, internal }) => family === 'IPv4' && !internal)
    .map(({ address }) => address);
  return outward.find((address) => pods.check(address, 'ipv4')) ?? outward[0];
}
