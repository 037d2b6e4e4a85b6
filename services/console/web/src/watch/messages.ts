/** A WebSocket, as far as a watch needs one. */
export type EventSocket = Pick<WebSocket, 'addEventListener' | 'close'>;

/** The server closed a WebSocket otherwise than at the end of a watch, or never opened it. Browsers do not say why. */
export class SocketClosedError extends Error {
  override readonly name = 'SocketClosedError';
}

const NORMAL = 1000;

/** The messages of a WebSocket; the first is '' and means that it is open. Throws SocketClosedError, or the signal's reason. */
export async function* messagesOf(socket: EventSocket, signal: AbortSignal): AsyncGenerator<string> {
  const queue: string[] = [];
  let code: number | undefined;
  let wake = () => {};
  const add = (message: string) => {
    queue.push(message);
    wake();
  };
  socket.addEventListener('open', () => add(''));
  socket.addEventListener('message', ({ data }) => add(String(data)));
  socket.addEventListener('close', (event) => {
    code = event.code;
    wake();
  });
  const abort = () => wake();
  signal.addEventListener('abort', abort, { once: true });
  try {
    for (;;) {
      signal.throwIfAborted();
      for (let message = queue.shift(); message !== undefined; message = queue.shift()) yield message;
      if (code === NORMAL) return;
      if (code !== undefined) throw new SocketClosedError(`the connection was closed (${code})`);
      if (queue.length === 0 && !signal.aborted)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  } finally {
    signal.removeEventListener('abort', abort);
    socket.close();
  }
}
