import { formatAddresses, formatPorts } from './ranges.ts';
import { digestOf, isAllPorts, type NamedPort, type Policy, type PolicyRule } from './parse-policy.ts';
import type { Fragment } from '../rules/fragment.ts';

/** Of packets, as seen from the pod that a policy selects. */
export type Direction = 'ingress' | 'egress';

/** The set of the pods of a rule's peers. */
export type PeersSet = `peers/${string}`;
/** The set of all pods' addresses and numbers of a named port. */
export type NamedPortSet = `named-ports/${string}`;

/** Keys that are part of a chain's name as they are. Names in the packet filter have at most 255 characters, policies' up to 253. */
const PLAIN_KEY = /^[a-z0-9./-]{1,150}$/;

/** The name of the set of a group of peers. */
export function peersSet(id: string): PeersSet {
  return `peers/${id}`;
}

/** The name of the set of a named port. */
export function namedPortSet({ protocol, name }: NamedPort): NamedPortSet {
  return `named-ports/${protocol}/${name}`;
}

/** The chain that accepts what the policy allows. */
export function allowChain({ key }: Pick<Policy, 'key'>, direction: Direction): string {
  return `${direction}-allowed/${PLAIN_KEY.test(key) ? key : digestOf(key)}`;
}

/** Policies that may allow a pod something: each pod can have a chain of its own, with a rule for each. */
export const MAX_ALLOWING = 200;

/** What isolates pods. */
export interface IsolationChain {
  readonly name: string;
  readonly rules: readonly string[];
  /** How many policies are left out because there are too many: what they allow stays closed. */
  readonly omitted: number;
}

/** The chain of pods that these policies isolate: what none of them allows is dropped. */
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

/** The part of the table for one policy, without the sets that its rules look up. */
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

/** The rule in nftables' language. Where both peers and ports need several matches, the ports have a chain of their own. */
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

/** One match per way to be a peer; '' matches all. */
function peerMatches(peers: PolicyRule['peers'], direction: Direction): readonly string[] {
  if (peers === 'all') return [''];
  const peer = direction === 'ingress' ? 'ip saddr' : 'ip daddr';
  const { group, addresses } = peers;
  return [
    ...(group === undefined ? [] : [`${peer} @${peersSet(group.id)}`]),
    ...(addresses.length === 0 ? [] : [`${peer} { ${addresses.map((range) => formatAddresses(range)).join(', ')} }`]),
  ];
}

/** One match per protocol and per named port; '' matches all protocols and ports. */
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
