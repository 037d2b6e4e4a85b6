import {
  type DiscoveryEndpointPort,
  type EndpointPort,
  lastingContainers,
  type Pod,
  type Service,
  type ServicePort,
} from '@gantry/objects';

const UTF8 = new TextEncoder();
/** The offset of FNV-1a of 128 bits, in words of 32 bits, the lowest first. */
const FNV_OFFSET = [0x6295c58d, 0x62b82175, 0x07bb0142, 0x6c62272e] as const;
/** Its prime is 2^88 and this. */
const FNV_PRIME_LOW = 0x13b;
const WORD = 2 ** 32;

/**
 * Ports in Kubernetes' order: by the 128-bit FNV-1a hash of Go's printed form of each port. The two kinds of ports are printed differently,
 * so their orders differ.
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

/** Computed with 32-bit words: a Service may have thousands of ports, and bigint products take about five times as long. */
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

/** A Service port as a pod serves it. */
export type PodPort = Required<Pick<DiscoveryEndpointPort, 'name' | 'port' | 'protocol'>> & {
  readonly appProtocol?: string;
};

/**
 * Returns a function from a pod to its ports for a Service. Pods with the same ports share one list. Named target ports are looked up in
 * containers and sidecars.
 */
export function portsOfPods(service: Service): (pod: Pod) => readonly PodPort[] {
  const { ports = [] } = service.spec ?? {};
  const isNamed = ports.some(({ targetPort }) => typeof targetPort === 'string');
  const known = new Map<string, readonly PodPort[]>();
  return (pod) => {
    const named = isNamed ? namedPorts(pod) : new Map<string, number>();
    const key = JSON.stringify([...named]);
    const found = known.get(key) ?? ports.flatMap((port) => portOf(port, named));
    known.set(key, found);
    return found;
  };
}

function portOf(servicePort: ServicePort, named: ReadonlyMap<string, number>): readonly PodPort[] {
  const { name = '', protocol = 'TCP', appProtocol, targetPort } = servicePort;
  const port =
    typeof targetPort === 'string' ? named.get(`${protocol} ${targetPort}`) : (targetPort ?? servicePort.port);
  return port === undefined ? [] : [{ name, port, protocol, appProtocol }];
}

/** The first port of each protocol and name. */
function namedPorts(pod: Pod): ReadonlyMap<string, number> {
  const named = new Map<string, number>();
  for (const { ports = [] } of lastingContainers(pod)) {
    for (const { name = '', protocol = 'TCP', containerPort } of ports) {
      const id = `${protocol} ${name}`;
      if (name !== '' && !named.has(id)) named.set(id, containerPort);
    }
  }
  return named;
}
