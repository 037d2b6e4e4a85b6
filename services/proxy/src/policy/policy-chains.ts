import { formatAddresses, formatPorts } from './ranges.ts';
import { digestOf, isAllPorts, type NamedPort, type Policy, type PolicyRule } from './parse-policy.ts';
import type { Fragment } from '../rules/fragment.ts';

/** The direction of packets, seen from the pod that a policy selects. */
export type Direction = 'ingress' | 'egress';

/** The name of the set with the pods of a rule's peers. */
export type PeersSet = `peers/${string}`;
/** The name of the set with all pod addresses and port numbers of a named port. */
export type NamedPortSet = `named-ports/${string}`;

/**
 * Matches keys that can be part of a chain's name unchanged. A name in the packet filter has at most 255 characters, a policy's name up
 * to 253.
 */
const PLAIN_KEY = /^[a-z0-9./-]{1,150}$/;

/** Returns the name of a peer group's set. */
export function peersSet(id: string): PeersSet {
  return `peers/${id}`;
}

/** Returns the name of a named port's set. */
export function namedPortSet({ protocol, name }: NamedPort): NamedPortSet {
  return `named-ports/${protocol}/${name}`;
}

/** Returns the name of the chain that accepts the traffic that the policy allows. */
export function allowChain({ key }: Pick<Policy, 'key'>, direction: Direction): string {
  return `${direction}-allowed/${PLAIN_KEY.test(key) ? key : digestOf(key)}`;
}

/** The maximum number of policies that allow a pod traffic. Each pod can have its own chain, with a rule for each policy. */
export const MAX_ALLOWING = 200;

/** The chain that isolates pods. */
export interface IsolationChain {
  readonly name: string;
  readonly rules: readonly string[];
  /** The number of policies that are omitted because there are too many. The traffic that they allow stays closed. */
  readonly omitted: number;
}

/** Returns the chain for pods that these policies isolate. It drops traffic that none of the policies allows. */
export function isolationChain(policies: readonly Policy[], direction: Direction): IsolationChain {
  const keys = policies.map(({ key }) => key).toSorted();
  const jumps = policies
    .filter((policy) => (policy[direction] ?? []).length > 0)
    .map((policy) => `jump ${allowChain(policy, direction)}`)
    .toSorted();
  return {
    name: `${direction}-of/${digestOf(keys.join('\n'))}`,
    rules: [...jumps.slice(0, MAX_ALLOWING), 'drop'],
    omitted: Math.max(0, jumps.length - MAX_ALLOWING),
  };
}

/** The chain that allows nothing. */
export function closedChain(direction: Direction): IsolationChain {
  return { name: `${direction}-of/closed`, rules: ['drop'], omitted: 0 };
}

/** Returns the table's part for one policy, without the sets that its rules look up. */
export function planPolicy(policy: Policy): Fragment {
  const chains = new Map<string, readonly string[]>();
  for (const direction of ['ingress', 'egress'] as const) {
    const rules = policy[direction] ?? [];
    if (rules.length === 0) continue;
    const name = allowChain(policy, direction);
    chains.set(name, [
      ...new Set(rules.flatMap((rule, index) => writeRule(rule, direction, `${name}/${index}`, chains))),
    ]);
  }
  return { elements: [], chains, sets: new Map() };
}

/** Writes the rule in nftables' language. If both the peers and the ports need several matches, the ports get their own chain. */
function writeRule(
  { peers, ports }: PolicyRule,
  direction: Direction,
  chain: string,
  chains: Map<string, readonly string[]>,
): readonly string[] {
  const ofPeers = peerMatches(peers, direction);
  const ofPorts = portMatches(ports);
  if (ofPeers.length <= 1 || ofPorts.length <= 1) {
    return ofPeers.flatMap((peer) =>
      ofPorts.map((port) => [peer, port, 'accept'].filter((part) => part !== '').join(' ')),
    );
  }
  chains.set(
    chain,
    ofPorts.map((port) => `${port} accept`),
  );
  return ofPeers.map((peer) => `${peer} jump ${chain}`);
}

/** Returns one match per kind of peer. An empty match matches all. */
function peerMatches(peers: PolicyRule['peers'], direction: Direction): readonly string[] {
  if (peers === 'all') return [''];
  const peer = direction === 'ingress' ? 'ip saddr' : 'ip daddr';
  const { group, addresses } = peers;
  return [
    ...(group === undefined ? [] : [`${peer} @${peersSet(group.id)}`]),
    ...(addresses.length === 0 ? [] : [`${peer} { ${addresses.map((range) => formatAddresses(range)).join(', ')} }`]),
  ];
}

/** Returns one match per protocol and per named port. An empty match matches all protocols and ports. */
function portMatches(ports: PolicyRule['ports']): readonly string[] {
  if (ports === 'all') return [''];
  return [
    ...[...ports.numbers].map(([protocol, ranges]) =>
      isAllPorts(ranges)
        ? `meta l4proto ${protocol}`
        : `${protocol} dport { ${ranges.map((range) => formatPorts(range)).join(', ')} }`,
    ),
    ...ports.named.map((port) => `meta l4proto ${port.protocol} ip daddr . th dport @${namedPortSet(port)}`),
  ];
}
