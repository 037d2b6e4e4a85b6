import type { IncomingMessage } from 'node:http';
import { setImmediate as nextRound } from 'node:timers/promises';
import type { Clock } from '@gantry/base';
import { CrowdError, type Source, type Starts } from '@gantry/service';
import { StatusError } from '@gantry/objects';

const MAX_BODY = 3 * 1024 * 1024;
const EMPTY = new Uint8Array(0);

/** How much may have arrived of bodies that have not ended yet, in bytes. */
export interface BodyLimits {
  readonly total: number;
  /** Of one user, and of one address: neither takes the room of the others. */
  readonly perUser: number;
  readonly perAddress: number;
  /** How long a body may stop arriving. */
  readonly stallMs: number;
}

const MIB = 1024 * 1024;
const LIMITS: BodyLimits = { total: 256 * MIB, perUser: 48 * MIB, perAddress: 128 * MIB, stallMs: 10_000 };

/** Reads a body whose request was authorised. */
export interface BodyReader {
  /**
   * The whole body; RequestEntityTooLarge above 3 MB (the rest is discarded, so that the client gets the response), TooManyRequests
   * while unfinished bodies of the user, its address or all take the room there is, or when too many wait for their turn, Timeout when it
   * stops arriving.
   */
  read(req: IncomingMessage, user: string, signal: AbortSignal): Promise<Uint8Array>;
  /** Waits for a later round of the event loop that has time: large bodies of many requests are decoded one step after the other. */
  nextTurn(user: string): Promise<void>;
}

/**
 * A reader with room of its own for bodies that have not ended. A body is handed on when it has its turn: decoding begins then, and many
 * that end in one round of the event loop are decoded in several.
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

/** Undefined where it is its turn now. */
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

/** Bytes of unfinished bodies, by whom they are from. */
class Room {
  readonly #limits: BodyLimits;
  readonly #users = new Map<string, number>();
  readonly #addresses = new Map<string, number>();
  #total = 0;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
  }

  /** Counts bytes, negative ones when they are given back; false when they are more than there is room for. */
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
      // Once: an error may still follow.
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

/** Returns what takes the listeners away again, but for that of errors: one may still follow. */
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
