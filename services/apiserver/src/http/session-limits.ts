import { constants, type ServerHttp2Session } from 'node:http2';
import type { Clock } from '@gantry/base';

/** Limits of control frames per client: a burst, and a rate per second. */
const CONTROL_BURST = 100;
const CONTROL_PER_SECOND = 10;
/** Interval of pings to a client with open streams, and the timeout of its response. */
const PING_EVERY_MS = 30_000;
const PING_ANSWER_MS = 15_000;

/** Closes a session whose client floods it with PING or SETTINGS frames. Node.js limits resets of streams and headers itself. */
export function limitControlFrames(session: ServerHttp2Session, clock: Pick<Clock, 'monotonicMs'>): void {
  let allowance = CONTROL_BURST;
  let at = clock.monotonicMs();
  const count = (): void => {
    const now = clock.monotonicMs();
    allowance = Math.min(CONTROL_BURST, allowance + ((now - at) / 1000) * CONTROL_PER_SECOND) - 1;
    at = now;
    if (allowance < 0 && !session.destroyed) session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
  };
  session.on('ping', count);
  session.on('remoteSettings', count);
}

/** Pings the clients of open sessions. Closes the session of a client that does not respond. */
export class Pings {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #sessions = new WeakMap<ServerHttp2Session, { sentAt: number; answer: 'awaited' | 'overdue' | 'here' }>();

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** Pings a session if a ping is due. Call it every few seconds. */
  send(session: ServerHttp2Session): void {
    const now = this.#clock.monotonicMs();
    const known = this.#sessions.get(session);
    if (known?.answer === 'overdue') {
      session.destroy();
      return;
    }
    if (known?.answer === 'awaited' && now - known.sentAt >= PING_ANSWER_MS) {
      // If this process was blocked, the response may have arrived but not been read yet. So it is checked once more.
      known.answer = 'overdue';
      return;
    }
    if (known === undefined) {
      this.#sessions.set(session, { sentAt: now, answer: 'here' });
      return;
    }
    if (known.answer === 'awaited' || now - known.sentAt < PING_EVERY_MS) return;
    known.sentAt = now;
    known.answer = 'awaited';
    const isSent = session.ping((error) => {
      if (error === null) known.answer = 'here';
    });
    // A closing session accepts no pings and ends with its last stream.
    if (!isSent) known.answer = 'here';
  }
}
