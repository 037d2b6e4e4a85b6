import type { DiscoveryEndpointPort, EndpointPort } from '@gantry/objects';

const UTF8 = new TextEncoder();
/** The offset of FNV-1a of 128 bits, in words of 32 bits, the lowest first. */
const FNV_OFFSET = [0x6295c58d, 0x62b82175, 0x07bb0142, 0x6c62272e] as const;
/** Its prime is 2^88 and this. */
const FNV_PRIME_LOW = 0x13b;
const WORD = 2 ** 32;

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

/** In words, because a Service may have thousands of ports, and products of bigints take about five times as long. */
function fnv1a(text: string): bigint {
  let [a, b, c, d]: readonly [number, number, number, number] = FNV_OFFSET;
  for (const byte of UTF8.encode(text)) {
    const low = (a ^ byte) >>> 0;
    // Times 2^88 is a shift by two words and 24 bits. Each sum is below 2^42.
    const first = low * FNV_PRIME_LOW;
    const second = b * FNV_PRIME_LOW + Math.floor(first / WORD);
    const third = c * FNV_PRIME_LOW + ((low << 24) >>> 0) + Math.floor(second / WORD);
    const fourth = d * FNV_PRIME_LOW + (((b << 24) | (low >>> 8)) >>> 0) + Math.floor(third / WORD);
    a = first >>> 0;
    b = second >>> 0;
    c = third >>> 0;
    d = fourth >>> 0;
  }
  return [d, c, b, a].reduce((hash, word) => (hash << 32n) | BigInt(word), 0n);
}
