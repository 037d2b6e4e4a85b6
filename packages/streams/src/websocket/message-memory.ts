import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';

/** Limits of the bytes that were received but not read. */
export interface MessageLimits {
  /** Of all users. */
  readonly maxBytes: number;
  readonly maxBytesOfUser: number;
}

/** Every user may hold two messages of the largest size, and four such users do not fill the memory of a process. */
const LIMITS: MessageLimits = { maxBytes: 256 * 1024 * 1024, maxBytesOfUser: 64 * 1024 * 1024 };
/** The uncounted bytes of each connection: the result of one read from a socket, and a full channel. */
const FREE_BYTES = 128 * 1024;

/** The memory that all WebSockets of one user hold. */
export interface MessageShare {
  /** Counts the bytes that `held` returns, until the result is disposed of. */
  count(held: () => number): CountedMessages;
}

/** The memory of one connection, as part of its user's. Disposed of with the connection. */
export interface CountedMessages extends Disposable {
  /** Whether the connection may hold its current number of bytes. */
  isAllowed(): boolean;
}

/**
 * Limits the memory for WebSocket messages that were received but not read. The library returns only complete messages, and a message of a
 * client may have 32 MiB. Bytes are summed up only while a connection holds more than the uncounted bytes.
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
 * Ends a WebSocket that holds more than its user's share allows. `queued` returns the size of the complete messages that were not read
 * yet.
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
    // Stops counting at once, so that the user's other connections can stay.
    stop();
    socket.terminate();
  };
  transport.on('data', take);
  socket.on('message', () => {
    incomplete = 0;
  });
  socket.once('close', stop);
}
