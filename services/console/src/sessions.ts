import { createHash } from 'node:crypto';
import type { Clock } from '@gantry/base';

/** Who signed in, as the API server says. */
export interface SignedIn {
  readonly user: string;
  readonly groups: readonly string[];
  /** The bearer token of the user. It never leaves this process but to the API server. */
  readonly token: string;
  /** When the token ends, if it says so. */
  readonly endsAt: number | undefined;
}

export interface Session extends SignedIn {
  /** What a request that changes something has in the header `X-CSRF-Token`. */
  readonly csrf: string;
  /** When the session ends at the latest, in Unix milliseconds. */
  readonly expiresAt: number;
  /** Aborted when the session ends. */
  readonly signal: AbortSignal;
  /** Takes a place for a request; undefined when the session has too many open ones. */
  begin(): Disposable | undefined;
}

export interface SessionLimits {
  readonly max: number;
  readonly maxOfUser: number;
  readonly maxRequests: number;
  /** Milliseconds without a request after which a session ends. */
  readonly idleMs: number;
  /** Milliseconds after which a session ends. */
  readonly lifeMs: number;
}

interface Kept {
  readonly session: Session;
  readonly abort: AbortController;
  readonly endsAtMs: number;
  usedAtMs: number;
  requests: number;
}

const SWEEP_MS = 15_000;

/** The text under which a secret is looked up. Comparing hashes shows nothing of the secret by its duration. */
export const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('base64');

/**
 * The sessions of this process, in memory alone: they end with it. A further session of a user, or of all, above the limits takes the place
 * of the one that has not been used longest.
 */
export class Sessions {
  readonly #limits: SessionLimits;
  readonly #clock: Clock;
  readonly #newSecret: () => string;
  /** By the hash of their cookie's value. */
  readonly #sessions = new Map<string, Kept>();

  constructor(
    limits: SessionLimits,
    { clock, newSecret }: { readonly clock: Clock; readonly newSecret: () => string },
  ) {
    this.#limits = limits;
    this.#clock = clock;
    this.#newSecret = newSecret;
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** Begins a session. Returns the value of its cookie, which is kept nowhere. */
  begin(signedIn: SignedIn): { readonly cookie: string; readonly session: Session } {
    this.#sweep();
    const { max, maxOfUser, maxRequests, lifeMs } = this.#limits;
    const own = [...this.#sessions].filter(([, { session }]) => session.user === signedIn.user);
    if (own.length >= maxOfUser) this.#endLongestUnused(own);
    if (this.#sessions.size >= max) this.#endLongestUnused([...this.#sessions]);
    const [now, cookie, abort] = [this.#clock.monotonicMs(), this.#newSecret(), new AbortController()];
    const leftMs = Math.min(lifeMs, (signedIn.endsAt ?? Infinity) - this.#clock.now());
    const session: Session = {
      ...signedIn,
      csrf: this.#newSecret(),
      expiresAt: this.#clock.now() + leftMs,
      signal: abort.signal,
      begin: () => {
        if (kept.requests >= maxRequests) return undefined;
        kept.requests += 1;
        let isOpen = true;
        const end = (): void => {
          if (isOpen) kept.requests -= 1;
          isOpen = false;
        };
        return { [Symbol.dispose]: end };
      },
    };
    const kept: Kept = { session, abort, endsAtMs: now + leftMs, usedAtMs: now, requests: 0 };
    this.#sessions.set(hashOf(cookie), kept);
    return { cookie, session };
  }

  /** The session of a cookie, which counts as used now; undefined when it has ended or never was. */
  find(cookie: string | undefined): Session | undefined {
    if (cookie === undefined) return undefined;
    const key = hashOf(cookie);
    const kept = this.#sessions.get(key);
    if (kept === undefined) return undefined;
    const now = this.#clock.monotonicMs();
    if (this.#isOver(kept, now)) {
      this.#end(key, kept);
      return undefined;
    }
    kept.usedAtMs = now;
    return kept.session;
  }

  /** Ends a session with all of its open requests. */
  end(session: Session): void {
    for (const [key, kept] of this.#sessions) if (kept.session === session) this.#end(key, kept);
  }

  /** Ends sessions whose time is up, until the signal is aborted; then all. */
  async run(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    let cancel = (): void => undefined;
    const round = (): void => {
      this.#sweep();
      cancel = this.#clock.setTimer(SWEEP_MS, round);
    };
    round();
    signal.addEventListener('abort', () => resolve(), { once: true });
    await promise;
    cancel();
    for (const [key, kept] of this.#sessions) this.#end(key, kept);
  }

  #sweep(): void {
    const now = this.#clock.monotonicMs();
    for (const [key, kept] of this.#sessions) if (this.#isOver(kept, now)) this.#end(key, kept);
  }

  #isOver({ endsAtMs, usedAtMs }: Kept, now: number): boolean {
    return now >= endsAtMs || now - usedAtMs >= this.#limits.idleMs;
  }

  #endLongestUnused(sessions: readonly (readonly [string, Kept])[]): void {
    const [oldest] = sessions.toSorted(([, one], [, other]) => one.usedAtMs - other.usedAtMs);
    if (oldest !== undefined) this.#end(...oldest);
  }

  #end(key: string, { abort }: Kept): void {
    this.#sessions.delete(key);
    abort.abort();
  }
}
