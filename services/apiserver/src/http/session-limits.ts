import { constants, type ServerHttp2Session } from 'node:http2';
import type { Clock } from '@gantry/base';

/** Frames that cost the server something and are no requests: a client may send so many at once, and per second. */
const CONTROL_BURST = 100;
const CONTROL_PER_SECOND = 10;
/** How often a client with open streams is pinged, and how long it may take to answer. */
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

/** Pings the clients of open sessions, and closes the sessions of those that do not answer. */
export class Pings {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #sessions = new WeakMap<ServerHttp2Session, { sentAt: number; answer: 'awaited' | 'overdue' | 'here' }>();

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** Pings a session if it is time. To be called every few seconds. */
  send(session: ServerHttp2Session): void {
    const now = this.#clock.monotonicMs();
    const known = this.#sessions.get(session);
    if (known?.answer === 'overdue') {
      session.destroy();
      return;
    }
    if (known?.answer === 'awaited' && now - known.sentAt >= PING_ANSWER_MS) {
      // Where this process stood still, the answer may have come and wait to be read: it is looked for once more.
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
    // A session that is closing takes no pings, and ends with its last stream.
    if (!isSent) known.answer = 'here';
  }
}
