import { type Clock, type Random } from '@gantry/base';
import type { NameServer } from '../runtime/sandboxes.ts';
import { AgentError } from '../runtime/agent-error.ts';

/** An address is not used again for this long, so that clients of the old pod do not reach a new one. */
const QUARANTINE_MS = 60_000;

/** First and last address of the pods' part of a range, as numbers: the first quarter is the infrastructure's. */
export function podRange(cidr: string): { first: number; last: number } {
  const match = /^(\d+)\.(\d+)\.(\d+)\.(\d+)\/(\d+)$/.exec(cidr);
  const [a, b, c, d, bits] = (match ?? []).slice(1).map(Number);
  const valid = [a, b, c, d].every((octet) => octet !== undefined && octet <= 255);
  if (!valid || bits === undefined || bits < 8 || bits > 28) {
    throw new AgentError('NoAddress', `pod range ${JSON.stringify(cidr)} is not an IPv4 range from /8 to /28`);
  }
  const size = 2 ** (32 - bits);
  const base = Math.floor(toNumber(cidr.split('/')[0] ?? '') / size) * size;
  return { first: base + size / 4, last: base + size - 2 };
}

function toNumber(address: string): number {
  return address.split('.').reduce((sum, octet) => sum * 256 + Number(octet), 0);
}

function toAddress(value: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join('.');
}

/** The part of the pods' addresses, from their end, for sandboxes that the engine connects: few pods use its name server. */
const ENGINE_PART = 1 / 8;

/** Addresses that are taken in turns. */
interface Rotation {
  readonly first: number;
  readonly size: number;
  next: number;
}

/**
 * Rotates through the pods' part of the range from a random start and skips addresses that were used recently. The agents of
 * a host share the range without coordination: the engine or the kernel, whichever connects the pod, refuses an address that is in use.
 * Neither knows the other's addresses, so each has its own part.
 */
export class AddressPool {
  readonly #clock: Clock;
  readonly #rotations: Readonly<Record<NameServer, Rotation>>;
  readonly #restingUntil = new Map<string, number>();

  constructor(cidr: string, clock: Clock, random: Random) {
    const { first, last } = podRange(cidr);
    this.#clock = clock;
    const size = last - first + 1;
    const ofEngine = Math.ceil(size * ENGINE_PART);
    const rotation = (start: number, length: number): Rotation => ({
      first: start,
      size: length,
      next: Math.floor(random() * length),
    });
    this.#rotations = {
      network: rotation(first, size - ofEngine),
      engine: rotation(first + size - ofEngine, ofEngine),
    };
  }

  /** The next address that may be used by a pod that asks this server for names. AgentError 'NoAddress' when there is none. */
  take(nameServer: NameServer): string {
    const rotation = this.#rotations[nameServer];
    const now = this.#clock.monotonicMs();
    for (const [address, until] of this.#restingUntil) if (until <= now) this.#restingUntil.delete(address);
    for (let tried = 0; tried < rotation.size; tried++) {
      const address = toAddress(rotation.first + rotation.next);
      rotation.next = (rotation.next + 1) % rotation.size;
      if (!this.#restingUntil.has(address)) return address;
    }
    throw new AgentError('NoAddress', `all ${rotation.size} pod addresses are in use or were used a short while ago`);
  }

  /** Takes an address out of the rotation for a while: its pod is gone, or another agent uses it. */
  rest(address: string): void {
    if (address !== '') this.#restingUntil.set(address, this.#clock.monotonicMs() + QUARANTINE_MS);
  }
}
