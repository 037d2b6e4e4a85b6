import { createSocket, type RemoteInfo, type Socket, type SocketOptions } from 'node:dgram';
import { once } from 'node:events';
import { type Clock, onAbort } from '@gantry/base';
import type { GroupMember } from '@gantry/service';
import type { Responder } from '../respond/responder.ts';
import type { QuestionQueue } from './question-queue.ts';
import { countAnswer, type ServerTotals } from './server-totals.ts';

/** Where a server listens, and its responder. */
export interface ListenOptions {
  readonly responder: Pick<Responder, 'respond'>;
  readonly host: string;
  readonly port: number;
  readonly totals: ServerTotals;
  readonly clock: Clock;
  /** Shared by all servers, so that an address has one share. */
  readonly queue: QuestionQueue;
  /** Called once with the port when the server listens. */
  readonly onListening?: (port: number) => void;
}

/** Buffers bursts while the process does other work. The kernel may give less. */
const RECEIVE_BYTES = 2 ** 21;

/** Answers packets over UDP. */
export function udpServer(options: ListenOptions): GroupMember {
  return {
    name: 'dns-udp',
    run: async (signal) => {
      const socket = createSocket({ type: 'udp4', recvBufferSize: RECEIVE_BYTES, lookup: sameAddress });
      const failed = once(socket, 'error').then(([error]) => {
        throw error;
      });
      // Awaited below.
      failed.catch(() => undefined);
      const onSent = (error: Error | null) => {
        // A client that is gone is not our problem.
        if (error !== null) options.totals.unsent += 1;
      };
      socket.on('message', (packet, client) =>
        answer({ socket, onSent, isClosed: () => signal.aborted }, packet, client, options),
      );
      const closed = Promise.withResolvers<void>();
      socket.on('close', () => closed.resolve());
      socket.bind(options.port, options.host, () => {
        options.onListening?.(socket.address().port);
        onAbort(signal, () => socket.close());
      });
      await Promise.race([closed.promise, failed]);
    },
  };
}

/** Every destination of a response is already an address. By default Node.js looks up each one, which takes a fifth of a packet's time. */
const sameAddress: NonNullable<SocketOptions['lookup']> = (address, _, callback) => callback(null, address, 4);

interface Sender {
  readonly socket: Socket;
  readonly onSent: (error: Error | null) => void;
  /** Whether nothing can be sent any more. */
  readonly isClosed: () => boolean;
}

function answer(
  { socket, onSent, isClosed }: Sender,
  packet: Buffer,
  client: RemoteInfo,
  options: ListenOptions,
): void {
  const { responder, totals, queue, clock } = options;
  totals.udp += 1;
  // No response can be sent to port 0.
  if (client.port === 0) return;
  if (!queue.hasRoom(client.address)) {
    totals.dropped += 1;
    totals.loop.count('failed', 0);
    return;
  }
  const receivedMs = clock.monotonicMs();
  const send = (response: Buffer | undefined) => {
    if (response === undefined) return;
    countAnswer(options, response, receivedMs);
    socket.send(response, client.port, client.address, onSent);
  };
  queue.add(client.address, () => {
    const response = responder.respond(packet, 'udp', client.address);
    if (!(response instanceof Promise)) {
      if (!isClosed()) send(response);
      return response?.length ?? 0;
    }
    response.then(send).catch(() => {
      // The socket was closed meanwhile.
      totals.unsent += 1;
    });
    return 0;
  });
}
