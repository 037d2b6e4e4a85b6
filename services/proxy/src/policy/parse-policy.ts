import { createHash } from 'node:crypto';
import {
  formatKey,
  keyOf,
  labelSelectorFrom,
  type LabelSelector,
  type NetworkPolicy,
  type NetworkPolicyPeer,
  type NetworkPolicyPort,
  type Selector,
} from '@gantry/objects';
import { parseRange, type Range } from '../rules/ipv4.ts';
import type { Protocol } from '../rules/service-port.ts';
import { ALL_ADDRESSES, mergeRanges, subtractRanges } from './ranges.ts';

/** Rules of one direction, and ranges of addresses and ports, that a policy may have. */
export const MAX_RULES = 1000;
export const MAX_RANGES = 10_000;
/** Selectors of peers that a policy may have: each is compared with every pod that it may concern. */
export const MAX_SELECTORS = 500;

/** Pods of one namespace by name, or of all namespaces with certain labels. */
export interface PodPeer {
  readonly namespace: string | Selector;
  readonly pods: Selector;
}

/** The pods of a rule's peers. Rules with the same peers have the same set. */
export interface PeerGroup {
  /** A digest of the peers; part of the set's name. */
  readonly id: string;
  readonly peers: readonly PodPeer[];
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
  /** How many ranges its rules have. */
  readonly ranges: number;
  /** How many of its rules are left out because they are beyond the limits: what they allow stays closed. */
  readonly omitted: number;
}

const PROTOCOLS: Readonly<Record<string, Protocol>> = { TCP: 'tcp', UDP: 'udp', SCTP: 'sctp' };
const ALL_PORTS: Range = { first: 0, last: 65_535 };
const PORT_NAME = /^[a-z0-9-]{1,15}$/;

interface Room {
  ranges: number;
  selectors: number;
}

/** Reads a policy. `rangesLeft` is how many ranges its namespace may still have. */
export function parsePolicy(object: NetworkPolicy, rangesLeft = MAX_RANGES): Policy {
  const { spec = {}, metadata } = object;
  const namespace = metadata.namespace ?? '';
  const types = spec.policyTypes ?? [];
  const hasEgress = types.length === 0 ? (spec.egress ?? []).length > 0 : types.includes('Egress');
  const hasIngress = types.length === 0 || types.includes('Ingress');
  const limit = Math.min(MAX_RANGES, rangesLeft);
  const room: Room = { ranges: limit, selectors: MAX_SELECTORS };
  const ingress = hasIngress
    ? parseRules(
        (spec.ingress ?? []).map(({ from, ports }) => ({ peers: from, ports })),
        namespace,
        room,
      )
    : undefined;
  const egress = hasEgress
    ? parseRules(
        (spec.egress ?? []).map(({ to, ports }) => ({ peers: to, ports })),
        namespace,
        room,
      )
    : undefined;
  return {
    key: formatKey(keyOf(object)),
    namespace,
    pods: labelSelectorFrom(spec.podSelector ?? {}),
    ingress: ingress?.rules,
    egress: egress?.rules,
    ranges: limit - room.ranges,
    omitted: (ingress?.omitted ?? 0) + (egress?.omitted ?? 0),
  };
}

/** The API writes null for empty lists. */
interface WrittenRule {
  readonly peers: readonly NetworkPolicyPeer[] | null | undefined;
  readonly ports: readonly NetworkPolicyPort[] | null | undefined;
}

function parseRules(
  written: readonly WrittenRule[],
  namespace: string,
  room: Room,
): { readonly rules: readonly PolicyRule[]; readonly omitted: number } {
  // One rule without peers and ports lets all pass: the others add nothing.
  const isAll = written.some(({ peers, ports }) => (peers ?? []).length === 0 && (ports ?? []).length === 0);
  if (isAll) return { rules: [{ peers: 'all', ports: 'all' }], omitted: 0 };
  const rules: PolicyRule[] = [];
  for (const { peers, ports } of written.slice(0, MAX_RULES)) {
    const rule = { peers: parsePeers(peers ?? [], namespace), ports: parsePorts(ports ?? []) };
    const size = sizeOf(rule);
    if (size.ranges > room.ranges || size.selectors > room.selectors) continue;
    room.ranges -= size.ranges;
    room.selectors -= size.selectors;
    rules.push(rule);
  }
  return { rules, omitted: written.length - rules.length };
}

function sizeOf({ peers, ports }: PolicyRule): Room {
  const numbers = ports === 'all' ? [] : [...ports.numbers.values()];
  return {
    ranges:
      numbers.reduce((sum, ranges) => sum + ranges.length, 0) +
      (ports === 'all' ? 0 : ports.named.length) +
      (peers === 'all' ? 0 : peers.addresses.length),
    selectors: peers === 'all' ? 0 : (peers.group?.peers.length ?? 0),
  };
}

function parsePeers(written: readonly NetworkPolicyPeer[], namespace: string): PolicyRule['peers'] {
  if (written.length === 0) return 'all';
  const peers = new Map<string, PodPeer>();
  const addresses: Range[] = [];
  for (const peer of written) {
    if ((peer.ipBlock ?? null) !== null) {
      // Ranges of IPv6 have no pods here, and none of them is an exception from IPv4.
      const range = parseRange(peer.ipBlock?.cidr ?? '');
      const except = (peer.ipBlock?.except ?? []).flatMap((text) => parseRange(text) ?? []);
      if (range !== undefined) for (const left of subtractRanges(range, except)) addresses.push(left);
      continue;
    }
    const { podSelector, namespaceSelector } = peer;
    // A peer that is not known allows nothing.
    if ((podSelector ?? null) === null && (namespaceSelector ?? null) === null) continue;
    const found: PodPeer = {
      namespace: (namespaceSelector ?? null) === null ? namespace : labelSelectorFrom(namespaceSelector),
      pods: labelSelectorFrom(podSelector ?? {}),
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
  return { id, peers: [...peers.values()] };
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
    const protocol = PROTOCOLS[text ?? 'TCP'];
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

export const isAllPorts = (ranges: readonly Range[]): boolean => isEverything(ranges, ALL_PORTS);
export const isAllAddresses = (ranges: readonly Range[]): boolean => isEverything(ranges, ALL_ADDRESSES);
