import {
  type AddressRange,
  ENGINE_LABEL,
  formatIpv4,
  HOST_ADDRESS_ANNOTATION,
  isWithin,
  type Node,
  parseIpv4,
  parseIpv4Range,
} from '@gantry/objects';

/** Another Docker host of the cluster. */
export interface OtherHost {
  /** The address to which packets for its pods are sent. */
  readonly address: string;
  /** The range of its pods and of all other addresses on its bridge. */
  readonly cidr: string;
}

/** A Node whose information about its host is refused, with the wrong field. */
export interface RefusedHost {
  readonly node: string;
  readonly field: string;
  readonly reason: string;
}

export interface HostsPlan {
  readonly hosts: readonly OtherHost[];
  readonly refused: readonly RefusedHost[];
}

/** The addresses and ranges of this host and its cluster. */
export interface HostSurroundings {
  /** This host's own address. No other host can have it. */
  readonly hostAddress: string;
  readonly podCidr: string;
  /** The pod ranges of all hosts are parts of this range. */
  readonly clusterRange: AddressRange;
  /** Ranges that contain no pods and no host addresses: the Service range, the control network and ranges that are not routed. */
  readonly reservedRanges: readonly AddressRange[];
}

/** The maximum number of other hosts. Each has a route and a chain. */
export const MAX_HOSTS = 255;

const ENGINE_FIELD = `metadata.labels[${ENGINE_LABEL}]`;
const ADDRESS_FIELD = `metadata.annotations[${HOST_ADDRESS_ANNOTATION}]`;
const RANGE_FIELD = 'spec.podCIDR';

/** A Node's information about its host. */
interface HostReport {
  readonly node: string;
  readonly engine: string;
  readonly address: string;
  readonly cidr: string;
}

/**
 * Returns the other hosts, from their Nodes. The Nodes of one engine are one host, with one range and one address. If two engines, or two
 * Nodes of one engine, contradict each other, the oldest Node counts. An agent writes the address itself, so a hostile agent gets neither
 * the range nor the address of a host with an older Node. A Node without a range or an address belongs to a host that cannot be reached
 * yet.
 */
export function planHosts(nodes: readonly Node[], surroundings: HostSurroundings): HostsPlan {
  const own = canonical(surroundings.podCidr);
  const reports = nodes.toSorted(byAge).map(reportOf);
  const known = new KnownHosts(surroundings);
  for (const { cidr, engine } of reports) if (cidr === own) known.takeOwn(engine);
  const refused: RefusedHost[] = [];
  for (const report of reports) {
    if (report.cidr === own || report.cidr === '' || report.address === '') continue;
    const refusal = known.take(report);
    if (refusal !== undefined) refused.push({ node: report.node, ...refusal });
  }
  return { hosts: known.hosts(), refused };
}

type Refusal = Omit<RefusedHost, 'node'>;

class KnownHosts {
  readonly #surroundings: HostSurroundings;
  readonly #byEngine = new Map<string, OtherHost>();
  readonly #ownEngines = new Set<string>();
  readonly #addresses = new Set<string>();
  readonly #ranges = new Set<string>();

  constructor(surroundings: HostSurroundings) {
    this.#surroundings = surroundings;
  }

  takeOwn(engine: string): void {
    this.#ownEngines.add(engine);
  }

  hosts(): readonly OtherHost[] {
    return [...this.#byEngine.values()].toSorted((one, other) => numberOf(one.cidr) - numberOf(other.cidr));
  }

  take({ engine, address, cidr }: HostReport): Refusal | undefined {
    if (engine === '') return { field: ENGINE_FIELD, reason: 'is missing' };
    if (this.#ownEngines.has(engine)) return { field: RANGE_FIELD, reason: "is not the one of its engine's host" };
    const reason = this.#whyNoRange(cidr);
    if (reason !== undefined) return { field: RANGE_FIELD, reason };
    const host = this.#byEngine.get(engine);
    if (host !== undefined) return contradiction(host, address, cidr);
    if (this.#ranges.has(cidr)) return { field: RANGE_FIELD, reason: `${cidr} is the range of another host` };
    const refused = this.#whyNoAddress(address);
    if (refused !== undefined) return { field: ADDRESS_FIELD, reason: refused };
    if (this.#byEngine.size === MAX_HOSTS) return { field: RANGE_FIELD, reason: `is of more than ${MAX_HOSTS} hosts` };
    this.#byEngine.set(engine, { address, cidr });
    this.#addresses.add(address);
    this.#ranges.add(cidr);
    return undefined;
  }

  #whyNoRange(cidr: string): string | undefined {
    const { podCidr, clusterRange, reservedRanges } = this.#surroundings;
    const range = parseIpv4Range(cidr);
    if (range === undefined) return 'is not an IPv4 range';
    // All ranges have the same size, so two different ranges do not overlap.
    if (cidr.split('/')[1] !== podCidr.split('/')[1]) return `${cidr} has not the size of this host's, ${podCidr}`;
    if (range.first < clusterRange.first || range.last > clusterRange.last)
      return `${cidr} is outside of the cluster's range`;
    if (reservedRanges.some((reserved) => reserved.first <= range.last && range.first <= reserved.last))
      return `${cidr} overlaps the control network or the range of Services`;
    return undefined;
  }

  #whyNoAddress(address: string): string | undefined {
    const { hostAddress, clusterRange, reservedRanges } = this.#surroundings;
    if (parseIpv4(address) === undefined) return 'is not an IPv4 address';
    if (address === hostAddress) return `${address} is the address of this host`;
    if (this.#addresses.has(address)) return `${address} is the address of another host`;
    if (isWithin(clusterRange, address)) return `${address} is in the cluster's range`;
    if (reservedRanges.some((range) => isWithin(range, address))) return `${address} is no address of a host`;
    return undefined;
  }
}

function contradiction(host: OtherHost, address: string, cidr: string): Refusal | undefined {
  if (cidr !== host.cidr) return { field: RANGE_FIELD, reason: `${cidr} is not ${host.cidr}, its engine's range` };
  if (address !== host.address)
    return { field: ADDRESS_FIELD, reason: `is not ${host.address}, which an older Node of its engine has` };
  return undefined;
}

function reportOf({ metadata, spec }: Node): HostReport {
  return {
    node: metadata.name ?? '',
    engine: metadata.labels?.[ENGINE_LABEL] ?? '',
    address: metadata.annotations?.[HOST_ADDRESS_ANNOTATION] ?? '',
    cidr: canonical(spec?.podCIDR ?? ''),
  };
}

/** Returns the range without the bits below its prefix. Other texts stay unchanged. */
function canonical(cidr: string): string {
  const range = parseIpv4Range(cidr);
  return range === undefined ? cidr : `${formatIpv4(range.first)}/${Number(cidr.split('/')[1])}`;
}

function byAge(one: Node, other: Node): number {
  const [a, b] = [keyOfAge(one), keyOfAge(other)];
  return a < b ? -1 : Number(a > b);
}

function keyOfAge({ metadata }: Node): string {
  return `${metadata.creationTimestamp ?? ''} ${metadata.name ?? ''}`;
}

function numberOf(cidr: string): number {
  return parseIpv4Range(cidr)?.first ?? 0;
}
