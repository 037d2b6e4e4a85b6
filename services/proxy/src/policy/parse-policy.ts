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

/** Pods of one namespace by name, or of all namespaces with certain labels. */
export interface PodPeer {
  readonly namespace: string | Selector;
  readonly pods: Selector;
  /** Of both selectors. */
  readonly terms: number;
}

/** The pods of a rule's peers. Rules with the same peers have the same set. */
export interface PeerGroup {
  /** A digest of the peers; part of the set's name. */
  readonly id: string;
  readonly peers: readonly PodPeer[];
  /** Of all selectors. */
  readonly terms: number;
}

/** A port that each pod gives a number of its own. */
export interface NamedPort {
  readonly protocol: Protocol;
  readonly name: string;
}

/** What a rule lets pass: traffic with one of its peers and at one of its ports. */
export interface PolicyRule {
  /** `all`, or pods and ordered ranges of addresses, either of which may be missing. */
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
  /** The pods that it isolates. */
  readonly pods: Selector;
  /** Undefined where it says nothing about the direction. */
  readonly ingress: readonly PolicyRule[] | undefined;
  readonly egress: readonly PolicyRule[] | undefined;
  /** The work of comparing a pod with `pods`. */
  readonly podTerms: number;
  /** What it takes of the bounds. */
  readonly amounts: Amounts;
  /** How many of its rules are left out because they are beyond the bounds: what they allow stays closed. */
  readonly omitted: number;
}

const ALL_PORTS: Range = { first: 0, last: 65_535 };
const PORT_NAME = /^[a-z0-9-]{1,15}$/;

/**
 * Reads a policy. `left` is what its namespace may still have. Undefined where the policy itself is beyond the bounds: which pods it
 * isolates is not looked at then, and `closedPolicy` stands for it.
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

/** How much there is to read in a policy: its peers, exceptions and ports, and the labels and values of its selectors. */
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

/** Isolates all pods of a namespace and allows nothing. Its key is no policy's: names of policies are not empty. */
export function closedPolicy(namespace: string): Policy {
  const pods = labelSelectorFrom({});
  return { key: `${namespace}/`, namespace, pods, ingress: [], egress: [], podTerms: 1, amounts: NOTHING, omitted: 0 };
}

/** Counts amounts that are taken, up to bounds. */
class Taken {
  readonly #bounds: Amounts;
  #amounts = NOTHING;

  constructor(bounds: Amounts) {
    this.#bounds = bounds;
  }

  get amounts(): Amounts {
    return this.#amounts;
  }

  /** Takes all of it, or nothing where there is not enough. */
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
  // One rule without peers and ports lets all pass: the others add nothing.
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
      // Ranges of IPv6 have no pods here, and none of them is an exception from IPv4.
      const range = parseIpv4Range(peer.ipBlock?.cidr ?? '');
      const except = (peer.ipBlock?.except ?? []).flatMap((text) => parseIpv4Range(text) ?? []);
      if (range !== undefined) for (const left of subtractRanges(range, except)) addresses.push(left);
      continue;
    }
    const { podSelector, namespaceSelector } = peer;
    // A peer that is not known allows nothing.
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

/** Two peers with the same text mean the same pods. */
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

/** Long enough that authors of policies cannot make two texts with the same digest. */
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

/** Whether the ranges are all there are. */
export function isEverything(ranges: readonly Range[], all: Range): boolean {
  const [only] = ranges;
  return ranges.length === 1 && only?.first === all.first && only.last === all.last;
}

/** Whether the ranges of ports are all ports. */
export const isAllPorts = (ranges: readonly Range[]): boolean => isEverything(ranges, ALL_PORTS);
/** Whether the ranges of addresses are all addresses. */
export const isAllAddresses = (ranges: readonly Range[]): boolean => isEverything(ranges, ALL_ADDRESSES);

function rulesOf({ ingress = [], egress = [] }: Policy) {
  return [...ingress, ...egress];
}

/** One for each rule that selects pods. */
export function groupsOf(policy: Policy): readonly PeerGroup[] {
  return rulesOf(policy).flatMap(({ peers }) => (peers === 'all' || peers.group === undefined ? [] : [peers.group]));
}

/** As often as rules look them up. */
export function namedPortsOf(policy: Policy): readonly NamedPort[] {
  return rulesOf(policy).flatMap(({ ports }) => (ports === 'all' ? [] : ports.named));
}
