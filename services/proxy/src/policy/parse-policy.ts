import { createHash } from 'node:crypto';
import {
  formatKey,
  keyOf,
  type LabelSelector,
  labelSelectorFrom,
  type NetworkPolicy,
  type NetworkPolicyPeer,
  type NetworkPolicyPort,
  parseIpv4Range,
  type Selector,
} from '@gantry/objects';
import { type Protocol, protocolOf } from '../rules/service-port.ts';
import { type Amounts, fits, least, MAX_RULES, minus, NOTHING, plus, POLICY_BOUNDS, termsOf } from './bounds.ts';
import { ALL_ADDRESSES, mergeRanges, subtractRanges, type Range } from './ranges.ts';

/** Pods of one namespace by name, or of all namespaces with matching labels. */
export interface PodPeer {
  readonly namespace: string | Selector;
  readonly pods: Selector;
  /** The terms of both selectors. */
  readonly terms: number;
}

/** The pods of a rule's peers. Rules with the same peers share a set. */
export interface PeerGroup {
  /** A digest of the peers; part of the set's name. */
  readonly id: string;
  readonly peers: readonly PodPeer[];
  /** The terms of all selectors. */
  readonly terms: number;
}

/** A port name. Each pod gives it its own number. */
export interface NamedPort {
  readonly protocol: Protocol;
  readonly name: string;
}

/** The traffic that a rule allows: with one of its peers and at one of its ports. */
export interface PolicyRule {
  /** `all`, or pods and ordered ranges of addresses. Either part may be missing. */
  readonly peers: 'all' | { readonly group: PeerGroup | undefined; readonly addresses: readonly Range[] };
  readonly ports:
    | 'all'
    | { readonly numbers: ReadonlyMap<Protocol, readonly Range[]>; readonly named: readonly NamedPort[] };
}

/** A NetworkPolicy as the rules need it. */
export interface Policy {
  /** `<namespace>/<name>`. */
  readonly key: string;
  readonly namespace: string;
  /** The pods that the policy isolates. */
  readonly pods: Selector;
  /** Undefined if the policy does not apply to the direction. */
  readonly ingress: readonly PolicyRule[] | undefined;
  readonly egress: readonly PolicyRule[] | undefined;
  /** The work of comparing a pod with `pods`. */
  readonly podTerms: number;
  /** The amounts that count against the bounds. */
  readonly amounts: Amounts;
  /** The number of rules that are omitted because they exceed the bounds. The traffic that they allow stays closed. */
  readonly omitted: number;
}

const ALL_PORTS: Range = { first: 0, last: 65_535 };
const PORT_NAME = /^[a-z0-9-]{1,15}$/;

/**
 * Reads a policy. `left` is what its namespace may still use. Returns undefined if the policy itself exceeds the bounds. Then nothing
 * evaluates which pods it isolates, and `closedPolicy` applies instead.
 */
export function parsePolicy(object: NetworkPolicy, left: Amounts = POLICY_BOUNDS): Policy | undefined {
  const { spec = {}, metadata } = object;
  const podTerms = termsOf(spec.podSelector);
  const own: Amounts = { ...NOTHING, policies: 1, terms: podTerms };
  const limit = least(POLICY_BOUNDS, left);
  if (!fits(own, limit)) return undefined;
  const namespace = metadata.namespace ?? '';
  const types = spec.policyTypes ?? [];
  const hasEgress = types.length === 0 ? (spec.egress ?? []).length > 0 : types.includes('Egress');
  const hasIngress = types.length === 0 || types.includes('Ingress');
  const taken = new Taken(minus(limit, own));
  const read = (written: readonly WrittenRule[]) => parseRules(written, namespace, taken);
  const ingress = hasIngress
    ? read((spec.ingress ?? []).map(({ from, ports }) => ({ peers: from, ports })))
    : undefined;
  const egress = hasEgress ? read((spec.egress ?? []).map(({ to, ports }) => ({ peers: to, ports }))) : undefined;
  return {
    key: formatKey(keyOf(object)),
    namespace,
    pods: labelSelectorFrom(spec.podSelector ?? {}),
    ingress: ingress?.rules,
    egress: egress?.rules,
    podTerms,
    amounts: plus(own, taken.amounts),
    omitted: (ingress?.omitted ?? 0) + (egress?.omitted ?? 0),
  };
}

/** The amount of reading in a policy: its peers, exceptions and ports, and the labels and values of its selectors. */
export function writtenSize({ spec }: NetworkPolicy): number {
  const sizeOf = (
    peers: readonly NetworkPolicyPeer[] | null | undefined,
    ports: readonly unknown[] | null | undefined,
  ) =>
    (peers ?? []).reduce(
      (sum, { ipBlock, podSelector, namespaceSelector }) =>
        sum + 1 + (ipBlock?.except ?? []).length + termsOf(podSelector) + termsOf(namespaceSelector),
      1 + (ports ?? []).length,
    );
  const ingress = (spec?.ingress ?? []).reduce((sum, { from, ports }) => sum + sizeOf(from, ports), 0);
  return (spec?.egress ?? []).reduce(
    (sum, { to, ports }) => sum + sizeOf(to, ports),
    ingress + termsOf(spec?.podSelector),
  );
}

/** A policy that isolates all pods of a namespace and allows nothing. No policy has this key, because policy names are not empty. */
export function closedPolicy(namespace: string): Policy {
  const pods = labelSelectorFrom({});
  return { key: `${namespace}/`, namespace, pods, ingress: [], egress: [], podTerms: 1, amounts: NOTHING, omitted: 0 };
}

/** Counts used amounts up to the bounds. */
class Taken {
  readonly #bounds: Amounts;
  #amounts = NOTHING;

  constructor(bounds: Amounts) {
    this.#bounds = bounds;
  }

  get amounts(): Amounts {
    return this.#amounts;
  }

  /** Takes all of the amounts, or nothing if not enough is left. */
  take(amounts: Amounts): boolean {
    const taken = plus(this.#amounts, amounts);
    if (!fits(taken, this.#bounds)) return false;
    this.#amounts = taken;
    return true;
  }
}

/** The API writes null for empty lists. */
interface WrittenRule {
  readonly peers: readonly NetworkPolicyPeer[] | null | undefined;
  readonly ports: readonly NetworkPolicyPort[] | null | undefined;
}

function parseRules(
  written: readonly WrittenRule[],
  namespace: string,
  taken: Taken,
): { readonly rules: readonly PolicyRule[]; readonly omitted: number } {
  // One rule without peers and ports allows everything, so the other rules add nothing.
  const isAll = written.some(({ peers, ports }) => (peers ?? []).length === 0 && (ports ?? []).length === 0);
  if (isAll) return { rules: [{ peers: 'all', ports: 'all' }], omitted: 0 };
  const rules: PolicyRule[] = [];
  for (const { peers, ports } of written.slice(0, MAX_RULES)) {
    const rule = { peers: parsePeers(peers ?? [], namespace), ports: parsePorts(ports ?? []) };
    if (taken.take(amountsOf(rule))) rules.push(rule);
  }
  return { rules, omitted: written.length - rules.length };
}

function amountsOf({ peers, ports }: PolicyRule): Amounts {
  const numbers = ports === 'all' ? [] : [...ports.numbers.values()];
  const group = peers === 'all' ? undefined : peers.group;
  return {
    policies: 0,
    rules: 1,
    ranges: numbers.reduce((sum, ranges) => sum + ranges.length, 0) + (peers === 'all' ? 0 : peers.addresses.length),
    terms: group?.terms ?? 0,
    groups: group === undefined ? 0 : 1,
    namedPorts: ports === 'all' ? 0 : ports.named.length,
  };
}

function parsePeers(written: readonly NetworkPolicyPeer[], namespace: string): PolicyRule['peers'] {
  if (written.length === 0) return 'all';
  const peers = new Map<string, PodPeer>();
  const addresses: Range[] = [];
  for (const peer of written) {
    if ((peer.ipBlock ?? null) !== null) {
      // IPv6 ranges contain no pods here, and they cannot be exceptions of an IPv4 range.
      const range = parseIpv4Range(peer.ipBlock?.cidr ?? '');
      const except = (peer.ipBlock?.except ?? []).flatMap((text) => parseIpv4Range(text) ?? []);
      if (range !== undefined) for (const left of subtractRanges(range, except)) addresses.push(left);
      continue;
    }
    const { podSelector, namespaceSelector } = peer;
    // An unknown kind of peer allows nothing.
    if ((podSelector ?? null) === null && (namespaceSelector ?? null) === null) continue;
    const found: PodPeer = {
      namespace: (namespaceSelector ?? null) === null ? namespace : labelSelectorFrom(namespaceSelector),
      pods: labelSelectorFrom(podSelector ?? {}),
      terms: termsOf(podSelector) + termsOf(namespaceSelector),
    };
    peers.set(identityOf(found, podSelector, namespaceSelector), found);
  }
  const merged = mergeRanges(addresses);
  return isAllAddresses(merged) ? 'all' : { group: groupOf(peers), addresses: merged };
}

/** Peers with the same text select the same pods. */
function identityOf(
  { namespace }: PodPeer,
  pods: LabelSelector | null | undefined,
  namespaces: LabelSelector | null | undefined,
): string {
  const canonical = (selector: LabelSelector | null | undefined) => [
    Object.entries(selector?.matchLabels ?? {}).toSorted(([one], [other]) => (one < other ? -1 : 1)),
    selector?.matchExpressions ?? [],
  ];
  return JSON.stringify([typeof namespace === 'string' ? namespace : canonical(namespaces), canonical(pods)]);
}

function groupOf(peers: ReadonlyMap<string, PodPeer>): PeerGroup | undefined {
  if (peers.size === 0) return undefined;
  const id = digestOf([...peers.keys()].toSorted().join('\n'));
  const terms = [...peers.values()].reduce((sum, peer) => sum + peer.terms, 0);
  return { id, peers: [...peers.values()], terms };
}

/** The digest is long enough that authors of policies cannot make two texts with the same digest. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 40);
}

function parsePorts(written: readonly NetworkPolicyPort[]): PolicyRule['ports'] {
  if (written.length === 0) return 'all';
  const numbers = new Map<Protocol, Range[]>();
  const named = new Map<string, NamedPort>();
  for (const { protocol: text, port, endPort } of written) {
    const protocol = protocolOf(text);
    if (protocol === undefined) continue;
    if (typeof port === 'string') {
      if (PORT_NAME.test(port)) named.set(`${protocol}/${port}`, { protocol, name: port });
      continue;
    }
    const range = (port ?? null) === null ? ALL_PORTS : portRange(port ?? 0, endPort ?? port ?? 0);
    const ranges = numbers.get(protocol) ?? [];
    ranges.push(range);
    numbers.set(protocol, ranges);
  }
  return {
    numbers: new Map([...numbers].map(([protocol, ranges]) => [protocol, mergeRanges(ranges)])),
    named: [...named.values()],
  };
}

function portRange(first: number, last: number): Range {
  return { first, last: Math.max(first, last) };
}

/** Whether the ranges cover everything. */
export function isEverything(ranges: readonly Range[], all: Range): boolean {
  const [only] = ranges;
  return ranges.length === 1 && only?.first === all.first && only.last === all.last;
}

/** Whether the ranges of ports cover all ports. */
export const isAllPorts = (ranges: readonly Range[]): boolean => isEverything(ranges, ALL_PORTS);
/** Whether the ranges of addresses cover all addresses. */
export const isAllAddresses = (ranges: readonly Range[]): boolean => isEverything(ranges, ALL_ADDRESSES);

function rulesOf({ ingress = [], egress = [] }: Policy) {
  return [...ingress, ...egress];
}

/** Returns one group for each rule that selects pods. */
export function groupsOf(policy: Policy): readonly PeerGroup[] {
  return rulesOf(policy).flatMap(({ peers }) => (peers === 'all' || peers.group === undefined ? [] : [peers.group]));
}

/** Returns each named port as often as rules look it up. */
export function namedPortsOf(policy: Policy): readonly NamedPort[] {
  return rulesOf(policy).flatMap(({ ports }) => (ports === 'all' ? [] : ports.named));
}
