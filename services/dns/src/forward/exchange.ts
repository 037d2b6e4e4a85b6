import { createSocket } from 'node:dgram';
import { createConnection, isIP } from 'node:net';
import type { Transport } from '../wire/response.ts';

/** A server that is asked. */
export interface Upstream {
  readonly address: string;
  readonly port: number;
}

/**
 * Sends a packet to a server and resolves with the result of `accept` for the first packet that it accepts. Other packets are ignored.
 * Rejects with the signal's reason, or if the server cannot be reached.
 */
export function exchange<T>(
  upstream: Upstream,
  packet: Buffer,
  accept: (bytes: Buffer) => T | undefined,
  { transport, signal }: { readonly transport: Transport; readonly signal: AbortSignal },
): Promise<T> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  const receive = (bytes: Buffer) => {
    const accepted = accept(bytes);
    if (accepted !== undefined) resolve(accepted);
  };
  const open = transport === 'udp' ? openUdp : openTcp;
  const close = open(upstream, packet, { receive, fail: reject });
  return promise.finally(() => {
    signal.removeEventListener('abort', onAbort);
    close();
  });
}

/** Receives the result of a sent packet. */
interface Receiver {
  receive(bytes: Buffer): void;
  fail(error: Error): void;
}

/**
 * Opens a socket for each query. Its random port means that a response cannot be guessed. The socket is connected, so packets of other
 * senders do not reach it.
 */
function openUdp({ address, port }: Upstream, packet: Buffer, { receive, fail }: Receiver): () => void {
  const socket = createSocket(isIP(address) === 6 ? 'udp6' : 'udp4');
  socket.on('error', fail);
  socket.on('message', receive);
  socket.connect(port, address, () => socket.send(packet));
  return () => socket.close();
}

function openTcp({ address, port }: Upstream, packet: Buffer, { receive, fail }: Receiver): () => void {
  const socket = createConnection({ host: address, port });
  let received = Buffer.alloc(0);
  socket.on('error', fail);
  socket.on('close', () => fail(new ConnectionEndedError(`${address} closed the connection`)));
  socket.on('data', (bytes) => {
    received = Buffer.concat([received, bytes]);
    while (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
      const end = 2 + received.readUInt16BE(0);
      receive(received.subarray(2, end));
      received = received.subarray(end);
    }
  });
  const length = Buffer.alloc(2);
  length.writeUInt16BE(packet.length);
  socket.write(Buffer.concat([length, packet]));
  return () => socket.destroy();
}

/** The server closed the connection before it answered. */
class ConnectionEndedError extends Error {
  override readonly name = 'ConnectionEndedError';
}
