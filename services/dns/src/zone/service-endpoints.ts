import type { EndpointSlice, ServicePort } from '@gantry/objects';
import { ANY_PORT, type ServedSlice, type ServiceEndpoints } from './cluster-state.ts';

/** A serving endpoint for the records: one address with the name's first label. */
export interface ServedEndpoint {
  readonly address: string;
  /** The first label of the endpoint's name: the hostname of the pod, or else its address with dashes. */
  readonly label: string;
}

/**
 * Returns the endpoints of a slice that names lead to: the ready ones. For a Service with `publishNotReadyAddresses`, the slice marks all
 * endpoints as `ready`. As the API defines, an endpoint without the condition is ready.
 */
export function servedEndpoints(slice: EndpointSlice): readonly ServedEndpoint[] {
  if (slice.addressType !== 'IPv4') return [];
  return (slice.endpoints ?? []).flatMap(({ addresses, conditions, hostname }) => {
    // Consumers use only the first address. The other addresses have no meaning.
    const [address] = addresses;
    if (address === undefined || conditions?.ready === false) return [];
    return [{ address, label: endpointLabel(address, hostname) }];
  });
}

/** Returns the first label of an endpoint's own name. */
function endpointLabel(address: string, hostname: string | undefined): string {
  return hostname === undefined || hostname === '' ? address.replaceAll('.', '-') : hostname.toLowerCase();
}

/** Returns the numbers of ports by the labels below the Service's name that lead to them. */
export function servedPorts(
  ports: readonly (ServicePort | NonNullable<EndpointSlice['ports']>[number])[],
): ReadonlyMap<string, ReadonlySet<number>> {
  const numbers = new Map<string, Set<number>>();
  for (const { name = '', protocol = 'TCP', port } of ports) {
    if (port === undefined) continue;
    const below = `_${protocol.toLowerCase()}`;
    for (const labels of name === '' ? [ANY_PORT] : [ANY_PORT, below, `_${name}.${below}`]) {
      const known = numbers.get(labels);
      if (known === undefined) numbers.set(labels, new Set([port]));
      else known.add(port);
    }
  }
  return numbers;
}

/** The endpoints of one Service from all its slices. Every change costs as much as the changed slice is large. */
export class IndexedEndpoints implements ServiceEndpoints {
  readonly #addresses = new CountedValues();
  readonly #byLabel = new Map<string, CountedValues>();
  /** The slices by the labels of their ports, and by their name. */
  readonly #byPort = new Map<string, Map<string, ServedSlice>>();

  get addresses(): readonly string[] {
    return this.#addresses.values;
  }

  labelled(label: string): readonly string[] {
    return this.#byLabel.get(label)?.values ?? [];
  }

  slicesWith(port: string): Iterable<ServedSlice> {
    return this.#byPort.get(port)?.values() ?? [];
  }

  add(slice: EndpointSlice): void {
    const endpoints = servedEndpoints(slice);
    if (endpoints.length === 0) return;
    for (const { address, label } of endpoints) {
      this.#addresses.add(address);
      valueAt(this.#byLabel, label, () => new CountedValues()).add(address);
    }
    const ports = servedPorts(slice.ports ?? []);
    const served = { labels: [...new Set(endpoints.map(({ label }) => label))], ports };
    for (const port of ports.keys())
      valueAt(this.#byPort, port, () => new Map()).set(slice.metadata?.name ?? '', served);
  }

  remove(slice: EndpointSlice): void {
    for (const { address, label } of servedEndpoints(slice)) {
      this.#addresses.remove(address);
      const labelled = this.#byLabel.get(label);
      labelled?.remove(address);
      if (labelled?.values.length === 0) this.#byLabel.delete(label);
    }
    for (const port of servedPorts(slice.ports ?? []).keys()) {
      const slices = this.#byPort.get(port);
      slices?.delete(slice.metadata?.name ?? '');
      if (slices?.size === 0) this.#byPort.delete(port);
    }
  }
}

/** Values that may be added several times. Each is listed once until it was removed as often. No operation reads them all. */
export class CountedValues {
  readonly #values: string[] = [];
  readonly #known = new Map<string, { at: number; count: number }>();

  /** In an order that changes. */
  get values(): readonly string[] {
    return this.#values;
  }

  add(value: string): void {
    const known = this.#known.get(value);
    if (known === undefined) this.#known.set(value, { at: this.#values.push(value) - 1, count: 1 });
    else known.count += 1;
  }

  remove(value: string): void {
    const known = this.#known.get(value);
    if (known === undefined) return;
    known.count -= 1;
    if (known.count > 0) return;
    this.#known.delete(value);
    // The last value moves to the free place.
    const last = this.#values.pop();
    const moved = last === undefined ? undefined : this.#known.get(last);
    if (last === undefined || moved === undefined) return;
    this.#values[known.at] = last;
    moved.at = known.at;
  }
}

/** Returns the value of a key, which is created if it is missing. */
export function valueAt<T>(map: Map<string, T>, key: string, create: () => T): T {
  const known = map.get(key);
  if (known !== undefined) return known;
  const created = create();
  map.set(key, created);
  return created;
}
