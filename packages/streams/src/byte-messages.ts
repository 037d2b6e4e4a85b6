import type { Upgrade, UpgradeExchange } from './upgrades.ts';
import type { ByteChoice } from './stream-protocol.ts';
import { takeOver } from './taken-connection.ts';
import { acceptWebSocket } from './websocket/accept-websocket.ts';

/** The longest message of a client. Messages of clients are ignored. */
const MAX_RECEIVED_BYTES = 64 * 1024;

/** RFC 6455, section 7.4.1: a normal closure, and an unexpected condition at the server. */
const CLOSE_CODES = { complete: 1000, incomplete: 1011 } as const;

/** Bytes for the client, each in a message of a WebSocket. */
export interface ByteMessages {
  /** Aborted when the connection has ended. */
  readonly ended: AbortSignal;
  /** Resolves when the bytes are sent or the connection has ended. */
  send(bytes: Uint8Array): Promise<void>;
  /** Ends the connection after all sent bytes. `incomplete` tells the client that bytes are missing. */
  close(content: 'complete' | 'incomplete'): void;
}

/**
 * Opens a WebSocket on which only the server sends, as Kubernetes does for responses of bytes. The first message is empty. Throws
 * HandshakeError, after which the request can get an ordinary response.
 */
export function openByteMessages(
  exchange: UpgradeExchange,
  upgrade: Upgrade,
  { protocol, codec }: ByteChoice,
): ByteMessages {
  const encode = (bytes: Uint8Array) => (codec === 'base64' ? Buffer.from(bytes).toString('base64') : bytes);
  const messages = open(exchange, upgrade, { protocol, encode, type: codec === 'base64' ? 'text' : 'binary' });
  void messages.send(Buffer.alloc(0));
  return messages;
}

/**
 * Opens a WebSocket on which only the server sends, for events: each is a message of its own, of this type. Throws HandshakeError, after
 * which the request can get an ordinary response.
 */
export function openEventMessages(exchange: UpgradeExchange, upgrade: Upgrade, type: 'text' | 'binary'): ByteMessages {
  return open(exchange, upgrade, { protocol: '', encode: (bytes) => bytes, type });
}

interface Encoding {
  readonly protocol: string;
  readonly encode: (bytes: Uint8Array) => Uint8Array | string;
  readonly type: 'text' | 'binary';
}

function open(exchange: UpgradeExchange, upgrade: Upgrade, { protocol, encode, type }: Encoding): ByteMessages {
  const socket = acceptWebSocket(exchange.req, upgrade, protocol, MAX_RECEIVED_BYTES);
  takeOver(exchange, upgrade);
  const ended = new AbortController();
  // After a violation of the protocol the library closes the connection and emits 'close'.
  socket.on('error', () => undefined);
  socket.once('close', () => ended.abort());
  const send = (bytes: Uint8Array): Promise<void> =>
    // A failure means that the connection has ended; `ended` reports that.
    new Promise((resolve) => socket.send(encode(bytes), { binary: type === 'binary' }, () => resolve()));
  const close = (content: 'complete' | 'incomplete'): void => socket.close(CLOSE_CODES[content]);
  return { ended: ended.signal, send, close };
}
