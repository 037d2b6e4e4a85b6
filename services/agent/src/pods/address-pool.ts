import { type Clock, type Random } from '@gantry/base';
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

/**
 * Rotates through the pods' part of the range from a random start and skips addresses that were used recently. The agents of
 * a host share the range without coordination: the engine refuses an address that is in use.
 */
export class AddressPool {
  readonly #clock: Clock;
  readonly #first: number;
  readonly #size: number;
  readonly #restingUntil = new Map<string, number>();
  #next: number;

  constructor(cidr: string, clock: Clock, random: Random) {
    const { first, last } = podRange(cidr);
    this.#clock = clock;
    this.#first = first;
    this.#size = last - first + 1;
    this.#next = Math.floor(random() * this.#size);
  }

  /** The next address that may be used. AgentError 'NoAddress' when there is none. */
  take(): string {
    const now = this.#clock.monotonicMs();
    for (const [address, until] of this.#restingUntil) if (until <= now) this.#restingUntil.delete(address);
    for (let tried = 0; tried < this.#size; tried++) {
      const address = toAddress(this.#first + this.#next);
      this.#next = (this.#next + 1) % this.#size;
      if (!this.#restingUntil.has(address)) return address;
    }
    throw new AgentError('NoAddress', `all ${this.#size} pod addresses are in use or were used a short while ago`);
  }

  /** Takes an address out of the rotation for a while: its pod is gone, or another agent uses it. */
  rest(address: string): void {
    if (address !== '') this.#restingUntil.set(address, this.#clock.monotonicMs() + QUARANTINE_MS);
  }
}
