import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import type { Clock } from '@gantry/base';
import { type GroupMember, Places } from '@gantry/service';
import { countCode, type ListenOptions } from './udp-server.ts';

export interface TcpServerOptions extends ListenOptions {
  readonly clock: Clock;
}

/** Connections without a packet for so long are closed (RFC 7766 suggests seconds). */
const IDLE_MS = 10_000;
/** Any pod may ask: one does not use up the connections of all. */
const CONNECTIONS = { max: 1024, maxOfAddress: 64 };
/** Questions of one connection that are being answered; more are read when these are. */
const MAX_WAITING = 64;
/** Bytes of answers of one connection that wait to be sent; no more questions are read meanwhile. */
const MAX_UNSENT_BYTES = 2 ** 17;
const LENGTH_BYTES = 2;

/** Answers packets over TCP, each with its length in front, in the order in which answers are there. */
export function tcpServer(options: TcpServerOptions): GroupMember {
  return {
    name: 'dns-tcp',
    run: async (signal) => {
      const connections = new Set<Socket>();
      const places = new Places(CONNECTIONS);
      const server = createServer((socket) => {
        const place = places.take(socket.remoteAddress ?? '');
        if (place === undefined) {
          socket.destroy();
          return;
        }
        connections.add(socket);
        socket.on('close', () => {
          connections.delete(socket);
          place[Symbol.dispose]();
        });
        serveConnection(socket, options);
      });
      const closed = once(server, 'close');
      const end = () => {
        server.close();
        for (const socket of connections) socket.destroy();
      };
      server.listen(options.port, options.host, () => {
        const address = server.address();
        if (address !== null && typeof address === 'object') options.onListening?.(address.port);
        if (signal.aborted) end();
        else signal.addEventListener('abort', end, { once: true });
      });
      await closed;
    },
  };
}

function serveConnection(socket: Socket, options: TcpServerOptions): void {
  const { responder, totals, clock } = options;
  const address = socket.remoteAddress ?? '';
  const connection = { received: Buffer.alloc(0), waiting: 0, unsentBytes: 0 };
  let cancelIdle = () => {};
  const touch = () => {
    cancelIdle();
    cancelIdle = clock.setTimer(IDLE_MS, () => socket.destroy());
  };
  touch();
  socket.on('close', () => cancelIdle());
  // A client that breaks off has its reasons.
  socket.on('error', () => socket.destroy());
  const send = (response: Buffer | undefined) => {
    connection.waiting -= 1;
    if (response !== undefined && socket.writable) {
      countCode(totals, response);
      const length = Buffer.allocUnsafe(LENGTH_BYTES);
      length.writeUInt16BE(response.length);
      // A client that does not read gets no further answers.
      if (!socket.write(Buffer.concat([length, response]))) socket.pause();
    }
    if (connection.waiting < MAX_WAITING && !socket.writableNeedDrain) takePackets();
  };
  const takePackets = () => {
    while (connection.waiting < MAX_WAITING && connection.unsentBytes < MAX_UNSENT_BYTES && !socket.destroyed) {
      const packet = nextPacket(connection);
      if (packet === undefined) {
        socket.resume();
        return;
      }
      totals.tcp += 1;
      connection.waiting += 1;
      touch();
      const response = responder.respond(packet, 'tcp', address);
      if (response instanceof Promise) response.then(send).catch(() => socket.destroy());
      else sendLater(response);
    }
    socket.pause();
  };
  // Not from within `takePackets`: a long row of packets would be a deep row of calls.
  const sendLater = (response: Buffer | undefined) => {
    const bytes = response?.length ?? 0;
    connection.unsentBytes += bytes;
    setImmediate(() => {
      connection.unsentBytes -= bytes;
      send(response);
    });
  };
  socket.on('drain', takePackets);
  socket.on('data', (bytes) => {
    connection.received = connection.received.length === 0 ? bytes : Buffer.concat([connection.received, bytes]);
    takePackets();
  });
}

/** Takes the first whole packet from what was received. */
function nextPacket(connection: { received: Buffer }): Buffer | undefined {
  const { received } = connection;
  if (received.length < LENGTH_BYTES) return undefined;
  const end = LENGTH_BYTES + received.readUInt16BE(0);
  if (received.length < end) return undefined;
  connection.received = received.subarray(end);
  return received.subarray(LENGTH_BYTES, end);
}
