import type { DiscoveryEndpointPort, EndpointPort } from '@gantry/objects';

const FNV_OFFSET = 0x6c62272e07bb014262b821756295c58dn;
const FNV_PRIME = 0x1000000000000000000013bn;
const MASK = (1n << 128n) - 1n;

/**
 * Ports in the order in which Kubernetes writes them: by the FNV-1a hash, of 128 bits, of Go's printed form of each port. The
 * two kinds of ports are printed differently, so their orders differ.
 */
export function sortEndpointPorts(ports: readonly EndpointPort[]): readonly EndpointPort[] {
  return sortByHash(
    ports,
    ({ name = '', port, protocol = '', appProtocol }) =>
      `(v1.EndpointPort){Name:(string)${name} Port:(int32)${port} Protocol:(v1.Protocol)${protocol} ` +
      `AppProtocol:(*string)${appProtocol ?? '<nil>'}}`,
  );
}

/** As `sortEndpointPorts`, for the ports of an EndpointSlice. */
export function sortSlicePorts(ports: readonly DiscoveryEndpointPort[]): readonly DiscoveryEndpointPort[] {
  return sortByHash(
    ports,
    ({ name, port, protocol, appProtocol }) =>
      `(v1.EndpointPort){Name:(*string)${name ?? '<nil>'} Protocol:(*v1.Protocol)${protocol ?? '<nil>'} ` +
      `Port:(*int32)${port ?? '<nil>'} AppProtocol:(*string)${appProtocol ?? '<nil>'}}`,
  );
}

function sortByHash<T>(ports: readonly T[], print: (port: T) => string): readonly T[] {
  if (ports.length < 2) return ports;
  return ports
    .map((port) => ({ port, hash: fnv1a(print(port)) }))
    .sort((a, b) => (a.hash < b.hash ? -1 : a.hash > b.hash ? 1 : 0))
    .map(({ port }) => port);
}

function fnv1a(text: string): bigint {
  let hash = FNV_OFFSET;
  for (const byte of new TextEncoder().encode(text)) hash = ((hash ^ BigInt(byte)) * FNV_PRIME) & MASK;
  return hash;
}
