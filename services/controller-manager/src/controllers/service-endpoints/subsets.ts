import type { EndpointAddress, EndpointPort, EndpointSubset } from '@gantry/objects';
import { sortEndpointPorts } from './port-order.ts';

/** The addresses that serve one port: by identity, ready or not. */
interface Group {
  readonly port: EndpointPort | undefined;
  readonly ready: Map<string, boolean>;
}

/**
 * The canonical form of subsets: addresses with the same ports are together, each once, sorted by address and uid. An address
 * that is both ready and not ready is not ready. A subset without ports stays one.
 */
export function repackSubsets(subsets: readonly EndpointSubset[]): readonly EndpointSubset[] {
  const addresses = new Map<string, EndpointAddress>();
  const groups = new Map<string, Group>();
  for (const { addresses: ready = [], notReadyAddresses = [], ports = [] } of subsets) {
    for (const port of ports.length === 0 ? [undefined] : ports) {
      const group = groupOf(groups, port);
      for (const address of ready) note(addresses, group, address, true);
      for (const address of notReadyAddresses) note(addresses, group, address, false);
    }
  }
  const packed = new Map<string, { ready: Group['ready']; ports: EndpointPort[] }>();
  for (const { port, ready } of groups.values()) {
    const key = JSON.stringify([...ready.keys()].sort());
    const known = packed.get(key);
    const ports = port === undefined ? [] : [port];
    if (known === undefined) packed.set(key, { ready, ports });
    else packed.set(key, { ready, ports: [...known.ports, ...ports] });
  }
  return [...packed.values()].map((one) => subsetOf(one, addresses)).sort(byText);
}

function groupOf(groups: Map<string, Group>, port: EndpointPort | undefined): Group {
  const key = port === undefined ? '' : portKey(port);
  const known = groups.get(key);
  if (known !== undefined) return known;
  const group: Group = { port, ready: new Map() };
  groups.set(key, group);
  return group;
}

function portKey({ name = '', port, protocol = '', appProtocol }: EndpointPort): string {
  return JSON.stringify([name, port, protocol, appProtocol ?? null]);
}

function note(addresses: Map<string, EndpointAddress>, group: Group, address: EndpointAddress, ready: boolean): void {
  const id = `${address.ip} ${address.targetRef?.uid ?? ''}`;
  if (!addresses.has(id)) addresses.set(id, address);
  if (group.ready.get(id) !== false) group.ready.set(id, ready);
}

function subsetOf(
  { ready, ports }: { readonly ready: Group['ready']; readonly ports: readonly EndpointPort[] },
  addresses: ReadonlyMap<string, EndpointAddress>,
): EndpointSubset {
  const pick = (wanted: boolean) =>
    [...ready].flatMap(([id, is]) => (is === wanted ? (addresses.get(id) ?? []) : [])).sort(byAddress);
  const [isReady, isNot] = [pick(true), pick(false)];
  return {
    ...(isReady.length === 0 ? {} : { addresses: isReady }),
    ...(isNot.length === 0 ? {} : { notReadyAddresses: isNot }),
    ...(ports.length === 0 ? {} : { ports: [...sortEndpointPorts(ports)] }),
  };
}

function byAddress(a: EndpointAddress, b: EndpointAddress): number {
  if (a.ip !== b.ip) return a.ip < b.ip ? -1 : 1;
  return (a.targetRef?.uid ?? '') < (b.targetRef?.uid ?? '') ? -1 : 1;
}

/** Kubernetes' order of subsets depends on hashes of uids; this one is as stable. */
function byText(a: EndpointSubset, b: EndpointSubset): number {
  return JSON.stringify(a.ports ?? []) < JSON.stringify(b.ports ?? []) ? -1 : 1;
}
