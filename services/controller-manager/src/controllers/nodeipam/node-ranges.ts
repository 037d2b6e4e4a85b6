import { type AddressRange, formatIpv4, isWithin, parseIpv4Range } from '@gantry/objects';

/** The ranges that a cluster has for the pods of its hosts. */
export interface RangeSettings {
  /** The range that contains all host ranges. */
  readonly clusterCidr: string;
  /** The range of the first host; all host ranges have this size. */
  readonly podCidr: string;
  /** Ranges that are not for pods: the control network and the Service range. */
  readonly reserved: readonly string[];
}

/** An invalid setting. */
export class NodeRangeError extends Error {
  override readonly name = 'NodeRangeError';
  readonly setting: 'clusterCidr' | 'podCidr';

  constructor(setting: 'clusterCidr' | 'podCidr', message: string) {
    super(message);
    this.setting = setting;
  }
}

/** As in Kubernetes, the cluster range has at most 16 bits more than a host range: 65,536 hosts. */
const MAX_BITS = 16;

/** The cluster range, divided into host ranges of equal size. */
export class NodeRanges {
  readonly clusterCidr: string;
  /** The maximum number of hosts. */
  readonly size: number;
  readonly #podCidr: string;
  readonly #cluster: AddressRange;
  readonly #prefix: number;
  readonly #reserved: readonly AddressRange[];

  /** Throws NodeRangeError if the settings contradict each other. */
  constructor({ clusterCidr, podCidr, reserved }: RangeSettings) {
    const cluster = parseIpv4Range(clusterCidr);
    const first = parseIpv4Range(podCidr);
    if (cluster === undefined) throw new NodeRangeError('clusterCidr', `${clusterCidr} is not an IPv4 range`);
    if (first === undefined) throw new NodeRangeError('podCidr', `${podCidr} is not an IPv4 range`);
    if (first.first < cluster.first || first.last > cluster.last)
      throw new NodeRangeError('clusterCidr', `${clusterCidr} does not contain the first host's range ${podCidr}`);
    this.#prefix = prefixOf(podCidr);
    if (this.#prefix - prefixOf(clusterCidr) > MAX_BITS)
      throw new NodeRangeError('clusterCidr', `${clusterCidr} has more than 65536 ranges of the size of ${podCidr}`);
    const overlapping = reserved.find((range) => overlap(rangeOf(range), first));
    if (overlapping !== undefined) throw new NodeRangeError('podCidr', `${podCidr} overlaps ${overlapping}`);
    this.clusterCidr = clusterCidr;
    this.#podCidr = this.#format(first.first);
    this.#cluster = cluster;
    this.#reserved = reserved.map(rangeOf);
    this.size = [...this.#all()].length;
  }

  /** The host range that contains an address; undefined if there is none. */
  containing(address: string): string | undefined {
    if (!isWithin(this.#cluster, address)) return undefined;
    const cidr = this.#format(rangeOf(`${address}/${this.#prefix}`).first);
    return this.#isReserved(rangeOf(cidr)) ? undefined : cidr;
  }

  /** The first free range for another host, and the number of ranges tried before it. */
  free(taken: ReadonlySet<string>): { readonly cidr: string; readonly tries: number } | undefined {
    const used = [...taken].map(rangeOf);
    let tries = 0;
    for (const cidr of this.#all()) {
      if (cidr === this.#podCidr) continue;
      if (!taken.has(cidr) && !used.some((one) => overlap(one, rangeOf(cidr)))) return { cidr, tries };
      tries += 1;
    }
    return undefined;
  }

  *#all(): Iterable<string> {
    const size = 2 ** (32 - this.#prefix);
    for (let { first } = this.#cluster; first <= this.#cluster.last; first += size)
      if (!this.#isReserved({ first, last: first + size - 1 })) yield this.#format(first);
  }

  #isReserved(range: AddressRange): boolean {
    return this.#reserved.some((one) => overlap(one, range));
  }

  #format(first: number): string {
    return `${formatIpv4(first)}/${this.#prefix}`;
  }
}

function prefixOf(cidr: string): number {
  return Number(cidr.split('/')[1]);
}

/** Parses a range. Empty for other texts, because other programs may write them into Nodes. */
function rangeOf(cidr: string): AddressRange {
  return parseIpv4Range(cidr) ?? { first: 1, last: 0 };
}

function overlap(one: AddressRange, other: AddressRange): boolean {
  return one.first <= other.last && other.first <= one.last && one.first <= one.last;
}
