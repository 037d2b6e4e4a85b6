import type { IncomingMessage } from 'node:http';
import { setImmediate as nextRound } from 'node:timers/promises';
import type { Clock } from '@gantry/base';
import { CrowdError, type Source, type Starts } from '@gantry/service';
import { StatusError } from '@gantry/objects';

const MAX_BODY = 3 * 1024 * 1024;
const EMPTY = new Uint8Array(0);

/** Limits for the received bytes of unfinished bodies. */
export interface BodyLimits {
  readonly total: number;
  /** Limits per user and per address, so that one of them cannot use up the total. */
  readonly perUser: number;
  readonly perAddress: number;
  /** A body that receives no data for this long is aborted. */
  readonly stallMs: number;
}

const MIB = 1024 * 1024;
const LIMITS: BodyLimits = { total: 256 * MIB, perUser: 48 * MIB, perAddress: 128 * MIB, stallMs: 10_000 };

/** Reads the body of an authorised request. */
export interface BodyReader {
  /**
   * Returns the whole body. Rejects with a StatusError:
   * - RequestEntityTooLarge above 3 MiB. The rest of the body is discarded, so that the client can read the response.
   * - TooManyRequests when unfinished bodies exceed a limit, or when too many bodies wait for their turn.
   * - Timeout when the body stalls or `signal` is aborted.
   * - BadRequest when the connection is lost.
   */
  read(req: IncomingMessage, user: string, signal: AbortSignal): Promise<Uint8Array>;
  /** Waits for a later turn of the event loop, so that large bodies of many requests are decoded in small steps. */
  nextTurn(user: string): Promise<void>;
}

/**
 * Creates a reader with its own limits for unfinished bodies. `read` resolves when the body has its turn: many bodies that end in the same
 * turn of the event loop are decoded in several turns.
 */
export function createBodyReader(
  clock: Pick<Clock, 'setTimer'>,
  starts: Pick<Starts, 'next'>,
  limits: BodyLimits = LIMITS,
): BodyReader {
  const room = new Room(limits);
  return {
    read: async (req, user, signal) => {
      const address = req.socket.remoteAddress ?? '';
      const bytes = await readBody(req, signal, {
        take: (count) => room.take(user, address, count),
        stalled: (fire) => clock.setTimer(limits.stallMs, fire),
      });
      await turnOf(starts, user);
      return bytes;
    },
    nextTurn: async (user) => {
      await nextRound();
      await turnOf(starts, user);
    },
  };
}

/** Waits for the turn of the user; undefined if the turn is now. */
function turnOf(starts: Pick<Starts, 'next'>, user: string): Promise<void> | undefined {
  const source: Source = `user:${user}`;
  const turn = starts.next(source);
  return turn === undefined ? undefined : unlessCrowded(turn);
}

async function unlessCrowded(turn: Promise<void>): Promise<void> {
  try {
    await turn;
  } catch (error) {
    throw error instanceof CrowdError ? new StatusError('TooManyRequests', error.message) : error;
  }
}

/** Counts the bytes of unfinished bodies by user and address. */
class Room {
  readonly #limits: BodyLimits;
  readonly #users = new Map<string, number>();
  readonly #addresses = new Map<string, number>();
  #total = 0;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
  }

  /** Adds bytes; a negative number gives bytes back. Returns false when a limit is exceeded. */
  take(user: string, address: string, bytes: number): boolean {
    this.#total += bytes;
    const ofUser = add(this.#users, user, bytes);
    const ofAddress = add(this.#addresses, address, bytes);
    const { total, perUser, perAddress } = this.#limits;
    return this.#total <= total && ofUser <= perUser && ofAddress <= perAddress;
  }
}

function add(counts: Map<string, number>, key: string, by: number): number {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
  return count;
}

interface Bounds {
  readonly take: (bytes: number) => boolean;
  readonly stalled: (fire: () => void) => () => void;
}

function readBody(req: IncomingMessage, signal: AbortSignal, { take, stalled }: Bounds): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let size = 0;
    let seen = 0;
    const onData = (part: Buffer) => {
      size += part.length;
      parts.push(part);
      if (!take(part.length)) {
        refuse(new StatusError('TooManyRequests', 'Too many requests, please try again later.'));
      } else if (size > MAX_BODY) {
        refuse(new StatusError('RequestEntityTooLarge', `Request entity too large: limit is ${MAX_BODY}`));
      }
    };
    const refuse = (error: StatusError) => {
      settle();
      parts.length = 0;
      req.resume();
      reject(error);
    };
    const onEnd = () => {
      settle();
      resolve(parts.length === 0 ? EMPTY : parts.length === 1 ? (parts[0] ?? EMPTY) : Buffer.concat(parts));
    };
    const onError = () => {
      settle();
      reject(StatusError.badRequest('the request body could not be read: the connection was lost'));
    };
    const onAbort = () => {
      settle();
      reject(StatusError.timeout('Timeout: the request body did not arrive in time'));
    };
    const onStall = () => {
      if (size === seen) onAbort();
      else {
        seen = size;
        cancel = stalled(onStall);
      }
    };
    const settle = () => {
      // `settle` may run twice, since an error may still follow. The bytes are given back once.
      if (size > 0) take(-size);
      size = 0;
      cancel();
      stopListening();
    };
    let cancel = stalled(onStall);
    const stopListening = listen(req, signal, { onData, onEnd, onError, onAbort });
    if (signal.aborted) onAbort();
  });
}

interface BodyEvents {
  readonly onData: (part: Buffer) => void;
  readonly onEnd: () => void;
  readonly onError: () => void;
  readonly onAbort: () => void;
}

/** Adds the listeners. The returned function removes them, except the error listener: an error may still follow. */
function listen(
  req: IncomingMessage,
  signal: AbortSignal,
  { onData, onEnd, onError, onAbort }: BodyEvents,
): () => void {
  req.on('data', onData);
  req.on('end', onEnd);
  req.on('error', onError);
  req.on('aborted', onError);
  req.on('close', onError);
  signal.addEventListener('abort', onAbort, { once: true });
  return () => {
    req.off('data', onData);
    req.off('end', onEnd);
    req.off('aborted', onError);
    req.off('close', onError);
    signal.removeEventListener('abort', onAbort);
  };
}
