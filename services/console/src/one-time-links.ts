import type { Clock } from '@gantry/base';
import { hashOf, type SignedIn } from './sessions.ts';

/** How long a link is good. */
export const LINK_MS = 120_000;
/** The most unused links of all users. A further one replaces the oldest. */
const MAX_LINKS = 32;
/** The most unused links of one user. A further one replaces the user's own oldest, so users cannot displace the links of others. */
const MAX_LINKS_OF_USER = 4;

interface Kept {
  readonly signedIn: SignedIn;
  readonly endsAtMs: number;
}

/** Codes by which a browser signs in with a credential that a command has handed over: each once, within two minutes. */
export class OneTimeLinks {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #newSecret: () => string;
  /** By the hash of their code, oldest first. */
  readonly #links = new Map<string, Kept>();

  constructor({ clock, newSecret }: { readonly clock: Pick<Clock, 'monotonicMs'>; readonly newSecret: () => string }) {
    this.#clock = clock;
    this.#newSecret = newSecret;
  }

  /** Makes a code. */
  add(signedIn: SignedIn): string {
    const now = this.#clock.monotonicMs();
    for (const [key, { endsAtMs }] of this.#links) if (endsAtMs <= now) this.#links.delete(key);
    const own = [...this.#links].filter(([, kept]) => kept.signedIn.user === signedIn.user);
    if (own.length >= MAX_LINKS_OF_USER) this.#links.delete(own[0]?.[0] ?? '');
    const [oldest] = this.#links.keys();
    if (oldest !== undefined && this.#links.size >= MAX_LINKS) this.#links.delete(oldest);
    const code = this.#newSecret();
    this.#links.set(hashOf(code), { signedIn, endsAtMs: now + LINK_MS });
    return code;
  }

  /** Who signs in by a code, which is used up by it; undefined for a code that is used, too old or none. */
  take(code: string): SignedIn | undefined {
    const key = hashOf(code);
    const kept = this.#links.get(key);
    this.#links.delete(key);
    return kept === undefined || kept.endsAtMs <= this.#clock.monotonicMs() ? undefined : kept.signedIn;
  }
}
