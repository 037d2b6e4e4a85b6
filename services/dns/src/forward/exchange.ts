import { createSocket } from 'node:dgram';
import { createConnection, isIP } from 'node:net';
import type { Transport } from '../wire/response.ts';

/** A server to ask. */
export interface Upstream {
  readonly address: string;
  readonly port: number;
}

/**
 * Sends a packet to a server and resolves with what `accept` makes of the first packet that it accepts; others are ignored. Rejects with
 * the signal's reason, or when the server cannot be reached.
 */
export function exchange<T>(
  upstream: Upstream,
  packet: Buffer,
  accept: (bytes: Buffer) => T | undefined,
  { transport, signal }: { readonly transport: Transport; readonly signal: AbortSignal },
): Promise<T> {
  signal.throwIfAborted();
  return transport === 'udp'
    ? exchangeOverUdp(upstream, packet, accept, signal)
    : exchangeOverTcp(upstream, packet, accept, signal);
}

/** A socket for each query: with its random port, a response cannot be guessed. Connected: packets of others do not reach it. */
function exchangeOverUdp<T>(
  { address, port }: Upstream,
  packet: Buffer,
  accept: (bytes: Buffer) => T | undefined,
  signal: AbortSignal,
): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const socket = createSocket(isIP(address) === 6 ? 'udp6' : 'udp4');
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  socket.on('error', reject);
  socket.on('message', (bytes) => {
    const accepted = accept(bytes);
    if (accepted !== undefined) resolve(accepted);
  });
  socket.connect(port, address, () => socket.send(packet));
  return promise.finally(() => {
    signal.removeEventListener('abort', onAbort);
    socket.close();
  });
}

function exchangeOverTcp<T>(
  { address, port }: Upstream,
  packet: Buffer,
  accept: (bytes: Buffer) => T | undefined,
  signal: AbortSignal,
): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const socket = createConnection({ host: address, port });
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  let received = Buffer.alloc(0);
  socket.on('error', reject);
  socket.on('close', () => reject(new ConnectionEndedError(`${address} closed the connection`)));
  socket.on('data', (bytes) => {
    received = Buffer.concat([received, bytes]);
    while (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
      const end = 2 + received.readUInt16BE(0);
      const accepted = accept(received.subarray(2, end));
      received = received.subarray(end);
      if (accepted !== undefined) resolve(accepted);
    }
  });
  const length = Buffer.alloc(2);
  length.writeUInt16BE(packet.length);
  socket.write(Buffer.concat([length, packet]));
  return promise.finally(() => {
    signal.removeEventListener('abort', onAbort);
    socket.destroy();
  });
}

/** The server closed the connection before it answered. */
class ConnectionEndedError extends Error {
  override readonly name = 'ConnectionEndedError';
}
