import { append } from '@gantry/base';
import type { EndpointAddress, EndpointPort, EndpointSubset } from '@gantry/objects';
import { sortEndpointPorts } from './service-ports.ts';

/** Addresses by identity: whether each is ready. */
type States = Map<string, boolean>;

/** Subsets with the same ports, merged. */
interface Block {
  readonly id: number;
  readonly ports: ReadonlyMap<string, EndpointPort | undefined>;
  readonly states: States;
}

/** Ports with the same addresses. */
interface Group {
  readonly states: States;
  readonly ports: EndpointPort[];
}

/**
 * The canonical form of subsets: addresses with the same ports are grouped, each once, sorted by address and uid. An address that is both
 * ready and not ready for a port is not ready. A subset without ports is kept. Subsets that share the same array of ports cost only their
 * addresses, because a Service may have many thousands of ports.
 */
export function repackSubsets(subsets: readonly EndpointSubset[]): readonly EndpointSubset[] {
  const addresses = new Map<string, EndpointAddress>();
  const groups = new Map<string, Group>();
  for (const { states, ports } of portsByBlocks(blocksOf(subsets, addresses))) {
    const key = JSON.stringify([...states].sort(([a], [b]) => (a < b ? -1 : 1)));
    const known = groups.get(key);
    if (known === undefined) groups.set(key, { states, ports });
    else append(known.ports, ports);
  }
  return [...groups.values()].map((one) => subsetOf(one, addresses)).sort(byText);
}

function blocksOf(subsets: readonly EndpointSubset[], addresses: Map<string, EndpointAddress>): readonly Block[] {
  const blocks = new Map<string, Block>();
  const known = new Map<unknown, Block>();
  for (const { addresses: ready = [], notReadyAddresses = [], ports = NO_PORTS } of subsets) {
    const block = known.get(ports) ?? blockOf(blocks, ports);
    known.set(ports, block);
    for (const address of ready) note(addresses, block.states, address, true);
    for (const address of notReadyAddresses) note(addresses, block.states, address, false);
  }
  return [...blocks.values()];
}

const NO_PORTS: readonly EndpointPort[] = [];

function blockOf(blocks: Map<string, Block>, list: readonly EndpointPort[]): Block {
  const ports = new Map(
    list.length === 0 ? [['', undefined] as const] : list.map((port) => [portKey(port), port] as const),
  );
  const key = [...ports.keys()].sort().join('\n');
  const block = blocks.get(key) ?? { id: blocks.size, ports, states: new Map() };
  blocks.set(key, block);
  return block;
}

/** Ports that are in the same blocks, with the merged addresses of these blocks. */
function portsByBlocks(blocks: readonly Block[]): readonly Group[] {
  const [only] = blocks;
  if (only !== undefined && blocks.length === 1) return [{ states: only.states, ports: portsIn(only.ports.values()) }];
  const places = new Map<string, { readonly port: EndpointPort | undefined; readonly blocks: Block[] }>();
  for (const block of blocks) {
    for (const [key, port] of block.ports) {
      const place = places.get(key);
      if (place === undefined) places.set(key, { port, blocks: [block] });
      else place.blocks.push(block);
    }
  }
  const alike = Map.groupBy(places.values(), (place) => place.blocks.map(({ id }) => id).join(' '));
  return [...alike.values()].map((group) => ({
    states: united(group[0]?.blocks ?? []),
    ports: portsIn(group.map(({ port }) => port)),
  }));
}

function portsIn(ports: Iterable<EndpointPort | undefined>): EndpointPort[] {
  return [...ports].filter((port) => port !== undefined);
}

function united(blocks: readonly Block[]): States {
  const states: States = new Map();
  for (const block of blocks) for (const [id, ready] of block.states) setState(states, id, ready);
  return states;
}

function portKey({ name = '', port, protocol = '', appProtocol }: EndpointPort): string {
  return JSON.stringify([name, port, protocol, appProtocol ?? null]);
}

function note(addresses: Map<string, EndpointAddress>, states: States, address: EndpointAddress, ready: boolean): void {
  const id = `${address.ip} ${address.targetRef?.uid ?? ''}`;
  if (!addresses.has(id)) addresses.set(id, address);
  setState(states, id, ready);
}

function setState(states: States, id: string, ready: boolean): void {
  if (states.get(id) !== false) states.set(id, ready);
}

function subsetOf({ states, ports }: Group, addresses: ReadonlyMap<string, EndpointAddress>): EndpointSubset {
  const pick = (wanted: boolean) =>
    [...states].flatMap(([id, is]) => (is === wanted ? (addresses.get(id) ?? []) : [])).sort(byAddress);
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

/** Kubernetes' order of subsets depends on hashes of uids; this order is just as stable. */
function byText(a: EndpointSubset, b: EndpointSubset): number {
  return JSON.stringify(a.ports ?? []) < JSON.stringify(b.ports ?? []) ? -1 : 1;
}
