import type { Clock } from '@gantry/base';
import type { Source } from '../starts.ts';

/** Limits on the number of connections, and on idle time in milliseconds. */
export interface ConnectionLimits {
  /** Connections of one unauthenticated address, or of one user. */
  readonly perOwner: number;
  readonly total: number;
  /** Idle time of a connection without an authenticated user. */
  readonly anonymousIdleMs: number;
  readonly idleMs: number;
}

/** An open connection, as its server reports it. */
export interface Connection {
  /** The client's address; once the user is known, the user. */
  readonly source: Source;
  /** A request or stream begins. */
  begin(): void;
  /** A request or stream has ended. */
  end(): void;
  /** Counts the connection for a user instead of its address. Only the first user of a connection counts. */
  belongsTo(user: string): void;
  closed(): void;
}

interface Owner {
  readonly kind: 'address' | 'user';
  readonly key: Source;
  size: number;
  /** Connections without a request, longest idle first. */
  readonly idle: Set<Tracked>;
}

interface Tracked {
  owner: Owner | undefined;
  requests: number;
  idleSince: number;
  readonly close: () => void;
}

/**
 * The open connections of a server. A connection counts for its address until its user is known, and for the user after that. A new
 * connection above a limit closes the connection of the same owner that has been idle longest. If none is idle, the new one is refused. So
 * idle connections never block others.
 */
export class Connections {
  readonly #limits: ConnectionLimits;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #owners = new Map<string, Owner>();
  #size = 0;
  #refused = 0;

  constructor(limits: ConnectionLimits, clock: Pick<Clock, 'monotonicMs'>) {
    this.#limits = limits;
    this.#clock = clock;
  }

  get size(): number {
    return this.#size;
  }

  /** Connections that were closed or refused because of a limit. */
  get refused(): number {
    return this.#refused;
  }

  /** Counts a new connection. Returns undefined when it is refused; the caller then closes it. */
  open(address: string, close: () => void): Connection | undefined {
    const owner = this.#owner('address', address);
    const { perOwner, total } = this.#limits;
    const isFull = owner.size >= perOwner ? !this.#evict(owner) : this.#size >= total && !this.#evict(this.#largest());
    if (isFull) {
      this.#refused += 1;
      this.#forget(owner);
      return undefined;
    }
    const tracked: Tracked = { owner, requests: 0, idleSince: this.#clock.monotonicMs(), close };
    owner.size += 1;
    owner.idle.add(tracked);
    this.#size += 1;
    let source = owner.key;
    return {
      get source() {
        source = tracked.owner?.key ?? source;
        return source;
      },
      begin: () => this.#begin(tracked),
      end: () => this.#end(tracked),
      belongsTo: (user) => this.#moveTo(tracked, user),
      closed: () => this.#remove(tracked),
    };
  }

  /** Closes connections that have been idle for too long. Call it every few seconds. */
  sweep(): void {
    const now = this.#clock.monotonicMs();
    const { anonymousIdleMs, idleMs } = this.#limits;
    for (const { kind, idle } of this.#owners.values()) {
      const limit = kind === 'address' ? anonymousIdleMs : idleMs;
      for (const tracked of idle) {
        if (now - tracked.idleSince < limit) break;
        tracked.close();
      }
    }
  }

  #begin(tracked: Tracked): void {
    tracked.requests += 1;
    if (tracked.requests === 1) tracked.owner?.idle.delete(tracked);
  }

  #end(tracked: Tracked): void {
    tracked.requests -= 1;
    if (tracked.requests > 0) return;
    tracked.idleSince = this.#clock.monotonicMs();
    tracked.owner?.idle.add(tracked);
  }

  #moveTo(tracked: Tracked, user: string): void {
    const { owner } = tracked;
    if (owner?.kind !== 'address') return;
    const next = this.#owner('user', user);
    if (next.size >= this.#limits.perOwner) this.#evict(next);
    owner.size -= 1;
    owner.idle.delete(tracked);
    this.#forget(owner);
    next.size += 1;
    if (tracked.requests === 0) next.idle.add(tracked);
    tracked.owner = next;
  }

  #remove(tracked: Tracked): void {
    const { owner } = tracked;
    if (owner === undefined) return;
    tracked.owner = undefined;
    owner.size -= 1;
    owner.idle.delete(tracked);
    this.#size -= 1;
    this.#forget(owner);
  }

  /** Closes the owner's connection that has been idle longest. Returns false when none is idle. */
  #evict(owner: Owner | undefined): boolean {
    const [oldest] = owner?.idle ?? [];
    if (oldest === undefined) return false;
    this.#refused += 1;
    this.#remove(oldest);
    oldest.close();
    return true;
  }

  /** The owner with the most connections among those with an idle one. Used only when the server is full. */
  #largest(): Owner | undefined {
    let largest: Owner | undefined;
    for (const owner of this.#owners.values()) {
      if (owner.idle.size > 0 && owner.size > (largest?.size ?? 0)) largest = owner;
    }
    return largest;
  }

  #owner(kind: Owner['kind'], key: string): Owner {
    const id: Source = `${kind}:${key}`;
    let owner = this.#owners.get(id);
    if (owner === undefined) {
      owner = { kind, key: id, size: 0, idle: new Set() };
      this.#owners.set(id, owner);
    }
    return owner;
  }

  #forget({ key, size }: Owner): void {
    if (size === 0) this.#owners.delete(key);
  }
}
