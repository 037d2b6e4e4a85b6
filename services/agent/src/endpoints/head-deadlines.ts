import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { CancelTimer, Clock } from '@gantry/base';

/** The time limit for the head of a request, from the start of its connection or the end of the previous response. */
const HEAD_MS = 10_000;

interface Open {
  requests: number;
  cancel: CancelTimer;
}

/**
 * Closes connections on which no request arrives, because idle clients would use up the limited connections. Node.js has such a limit
 * only for connections that its server has accepted itself.
 */
export class HeadDeadlines implements Disposable {
  readonly #clock: Clock;
  readonly #open = new Map<Socket, Open>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  connected(socket: Socket): void {
    const open: Open = { requests: 0, cancel: () => undefined };
    this.#open.set(socket, open);
    socket.once('close', () => {
      open.cancel();
      this.#open.delete(socket);
    });
    this.#wait(socket, open);
  }

  requested(socket: Socket, response: ServerResponse): void {
    const open = this.#open.get(socket);
    if (open === undefined) return;
    open.requests++;
    open.cancel();
    response.once('close', () => {
      open.requests--;
      if (open.requests === 0 && this.#open.has(socket)) this.#wait(socket, open);
    });
  }

  /** Closes all connections. */
  [Symbol.dispose](): void {
    for (const socket of this.#open.keys()) socket.destroy();
  }

  #wait(socket: Socket, open: Open): void {
    open.cancel = this.#clock.setTimer(HEAD_MS, () => socket.destroy());
  }
}
