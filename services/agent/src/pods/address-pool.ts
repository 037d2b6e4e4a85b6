import { type Clock, type Random } from '@gantry/base';
import { type AddressRange, formatIpv4, podAddresses } from '@gantry/objects';
import type { NameServer } from '../runtime/sandboxes.ts';
import { AgentError } from '../runtime/agent-error.ts';

/** A released address is not reused for this long, so that clients of the old pod do not reach a new one. */
const QUARANTINE_MS = 60_000;

/** The parts of a range for pods, by the component that connects them. AgentError 'NoAddress' for an invalid range. */
export function podRanges(cidr: string): Readonly<Record<NameServer, AddressRange>> {
  const parts = podAddresses(cidr);
  if (parts !== undefined) return { network: parts.pods, engine: parts.enginePods };
  throw new AgentError('NoAddress', `pod range ${JSON.stringify(cidr)} is not an IPv4 range from /8 to /28`);
}

/** A range whose addresses are taken in turn. */
interface Rotation {
  readonly first: number;
  readonly size: number;
  next: number;
}

/**
 * Assigns addresses from the pods' parts of the range in turn, beginning at a random one, and skips recently used ones. The agents of a
 * host share the range without coordination: whatever connects the pod, the engine or the kernel, refuses an address that is in use. The
 * two do not know each other's addresses, so each has its own part of the range.
 */
export class AddressPool {
  readonly #clock: Clock;
  readonly #rotations: Readonly<Record<NameServer, Rotation>>;
  readonly #restingUntil = new Map<string, number>();

  constructor(cidr: string, clock: Clock, random: Random) {
    const { network, engine } = podRanges(cidr);
    this.#clock = clock;
    const rotation = ({ first, last }: AddressRange): Rotation => {
      const size = last - first + 1;
      return { first, size, next: Math.floor(random() * size) };
    };
    this.#rotations = { network: rotation(network), engine: rotation(engine) };
  }

  /** The next usable address for a pod with this name server. AgentError 'NoAddress' when there is none. */
  take(nameServer: NameServer): string {
    const rotation = this.#rotations[nameServer];
    const now = this.#clock.monotonicMs();
    for (const [address, until] of this.#restingUntil) if (until <= now) this.#restingUntil.delete(address);
    for (let tried = 0; tried < rotation.size; tried++) {
      const address = formatIpv4(rotation.first + rotation.next);
      rotation.next = (rotation.next + 1) % rotation.size;
      if (!this.#restingUntil.has(address)) return address;
    }
    throw new AgentError('NoAddress', `all ${rotation.size} pod addresses are in use or were used a short while ago`);
  }

  /** Keeps an address unused for a while, because its pod is gone or another agent uses it. */
  rest(address: string): void {
    if (address !== '') this.#restingUntil.set(address, this.#clock.monotonicMs() + QUARANTINE_MS);
  }
}
