import { isIP } from 'node:net';

/** resolv.conf(5): further servers are ignored. */
const MAX_SERVERS = 3;

/** The addresses of the servers that a resolv.conf names, in its order. */
export function nameServers(text: string): readonly string[] {
  const servers = text.split('\n').flatMap((line) => {
    const [keyword, address = ''] = line.trim().split(/\s+/);
    return keyword === 'nameserver' && isIP(address) !== 0 ? [address] : [];
  });
  return servers.slice(0, MAX_SERVERS);
}

/**
 * The servers to forward to: those of the host, unless they are the host's own loopback, which a container cannot reach, or this cluster's
 * DNS, which would be asked in a circle. Where none is left, those of the container: the engine's, which forwards to the host's.
 */
export function forwardServers(
  hostFile: string,
  containerFile: string,
  isOwn: (address: string) => boolean,
): readonly string[] {
  const ofHost = nameServers(hostFile).filter((address) => !isLocal(address) && !isOwn(address));
  return ofHost.length > 0 ? ofHost : nameServers(containerFile).filter((address) => !isOwn(address));
}

function isLocal(address: string): boolean {
  return address.startsWith('127.') || address === '::1' || address === '0.0.0.0' || address === '::';
}
