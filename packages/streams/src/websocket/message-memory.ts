import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';

/** How many bytes of messages may be received but not read. */
export interface MessageLimits {
  /** Of all users. */
  readonly maxBytes: number;
  readonly maxBytesOfUser: number;
}

/** Every user has room for two messages of the largest size at once, and four such users do not fill an API server. */
const LIMITS: MessageLimits = { maxBytes: 256 * 1024 * 1024, maxBytesOfUser: 64 * 1024 * 1024 };
/** Of each connection, not counted: what one read from a socket gives, and a channel that is full. */
const FREE_BYTES = 128 * 1024;

/** What one user's WebSockets hold together. */
export interface MessageShare {
  /** Counts `held()` until the result is disposed of. */
  count(held: () => number): CountedMessages;
}

/** One connection's part of what its user's WebSockets hold; disposed of with the connection. */
export interface CountedMessages extends Disposable {
  /** Whether the connection may hold what it holds now. */
  isAllowed(): boolean;
}

/**
 * Bounds the bytes of WebSocket messages that have been received but not read: a library gives a message only when it is complete, and
 * one of Kubernetes' clients may have 32 MiB. What each connection holds is asked for only while one holds much.
 */
export class MessageMemory {
  readonly #limits: MessageLimits;
  readonly #held = new Map<string, Set<() => number>>();

  constructor(limits: MessageLimits = LIMITS) {
    this.#limits = limits;
  }

  of(user: string): MessageShare {
    return { count: (held) => this.#count(user, held) };
  }

  #count(user: string, held: () => number): CountedMessages {
    const own = this.#held.get(user) ?? new Set();
    this.#held.set(user, own.add(held));
    return {
      isAllowed: () => held() <= FREE_BYTES || this.#hasRoom(own),
      [Symbol.dispose]: () => {
        own.delete(held);
        if (own.size === 0 && this.#held.get(user) === own) this.#held.delete(user);
      },
    };
  }

  #hasRoom(own: ReadonlySet<() => number>): boolean {
    if (sumOf(own) > this.#limits.maxBytesOfUser) return false;
    let all = 0;
    for (const held of this.#held.values()) all += sumOf(held);
    return all <= this.#limits.maxBytes;
  }
}

function sumOf(connections: ReadonlySet<() => number>): number {
  let sum = 0;
  for (const held of connections) sum += Math.max(0, held() - FREE_BYTES);
  return sum;
}

/**
 * Cuts a WebSocket off that holds more than its user's share allows. `queued` is the size of the complete messages that have not been
 * read yet.
 */
export function limitMessages(socket: WebSocket, transport: Duplex, share: MessageShare, queued: () => number): void {
  let incomplete = 0;
  const counted = share.count(() => incomplete + queued());
  const stop = (): void => {
    transport.off('data', take);
    counted[Symbol.dispose]();
  };
  const take = (chunk: Buffer): void => {
    incomplete += chunk.length;
    if (counted.isAllowed()) return;
    // At once: the user's other connections may stay.
    stop();
    socket.terminate();
  };
  transport.on('data', take);
  socket.on('message', () => {
    incomplete = 0;
  });
  socket.once('close', stop);
}
