import type { Socket } from 'node:net';
import type { Clock } from '@gantry/base';
import { offeredProtocols } from './client-hello.ts';

/** Of a client's first message; those of today have up to 2 kB. */
const MAX_HELLO_BYTES = 16 * 1024 + 5;
/** How long it may take, however its bytes come. */
const HELLO_MS = 10_000;

/**
 * Hands a new connection to `grpc` when its client speaks HTTP/2 alone, as clients of gRPC do, and to `http` otherwise. The bytes that
 * were read are put back.
 */
export function chooseProtocol(
  socket: Socket,
  clock: Clock,
  { grpc, http }: { readonly grpc: (socket: Socket) => void; readonly http: (socket: Socket) => void },
): void {
  let read: Buffer = Buffer.alloc(0);
  const refuse = () => socket.destroy();
  const cancel = clock.setTimer(HELLO_MS, refuse);
  const look = () => {
    const part = socket.read() as Buffer | null;
    if (part !== null) read = Buffer.concat([read, part]);
    const offered = offeredProtocols(read);
    if (offered === 'incomplete') {
      if (read.length > MAX_HELLO_BYTES || socket.readableEnded) refuse();
      return;
    }
    socket.off('readable', look);
    socket.off('close', cancel);
    cancel();
    socket.unshift(read);
    if (offered.length === 1 && offered[0] === 'h2') grpc(socket);
    else http(socket);
  };
  // It stays: the client may leave while the handshake waits for its turn.
  socket.on('error', refuse);
  socket.on('close', cancel);
  socket.on('readable', look);
}
