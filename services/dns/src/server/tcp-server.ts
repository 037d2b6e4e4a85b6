import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { onAbort } from '@gantry/base';
import { type GroupMember, Places } from '@gantry/service';
import { countAnswer } from './server-totals.ts';
import type { ListenOptions } from './udp-server.ts';

/** Connections without a packet for this time are closed. RFC 7766 suggests a few seconds. */
const IDLE_MS = 10_000;
/** The maximum numbers of connections. Any pod may ask, and one pod must not use up all connections. */
const CONNECTIONS = { max: 1024, maxOfAddress: 64 };
/** The maximum number of questions of one connection that are answered at the same time. More are read when these are answered. */
const MAX_WAITING = 64;
const LENGTH_BYTES = 2;

/** Answers packets over TCP in the order in which the answers are ready. Each packet follows its length. */
export function tcpServer(options: ListenOptions): GroupMember {
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
        onAbort(signal, end);
      });
      await closed;
    },
  };
}

function serveConnection(socket: Socket, options: ListenOptions): void {
  const connection = new QueryConnection(socket, options);
  // A client may break off the connection for its own reasons.
  socket.on('error', () => socket.destroy());
  socket.on('drain', () => connection.takePackets());
  socket.on('data', (bytes) => connection.receive(bytes));
}

/** The packets of one connection and their answers. One packet at a time waits for a turn of the connection's address. */
class QueryConnection {
  readonly #socket: Socket;
  readonly #options: ListenOptions;
  readonly #address: string;
  readonly #input: { received: Buffer } = { received: Buffer.alloc(0) };
  #isQueued = false;
  #waiting = 0;
  #cancelIdle = () => {};

  constructor(socket: Socket, options: ListenOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#address = socket.remoteAddress ?? '';
    this.#touch();
    socket.on('close', () => this.#cancelIdle());
  }

  receive(bytes: Buffer): void {
    const { received } = this.#input;
    this.#input.received = received.length === 0 ? bytes : Buffer.concat([received, bytes]);
    this.takePackets();
  }

  /** Answers the received packets in turn as long as there is room for answers. A client that does not read gets no more answers. */
  takePackets(): void {
    if (this.#isQueued || this.#socket.destroyed) return;
    if (this.#waiting >= MAX_WAITING || this.#socket.writableNeedDrain) {
      this.#socket.pause();
      return;
    }
    const packet = nextPacket(this.#input);
    if (packet === undefined) {
      this.#socket.resume();
      return;
    }
    this.#socket.pause();
    this.#touch();
    this.#isQueued = true;
    const receivedMs = this.#options.clock.monotonicMs();
    this.#options.queue.add(this.#address, () => {
      this.#isQueued = false;
      const bytes = this.#socket.destroyed ? 0 : this.#answer(packet, receivedMs);
      this.takePackets();
      return bytes;
    });
  }

  /** Returns the size of an answer that exists already. */
  #answer(packet: Buffer, receivedMs: number): number {
    const { responder, totals } = this.#options;
    totals.tcp += 1;
    const response = responder.respond(packet, 'tcp', this.#address);
    if (!(response instanceof Promise)) {
      this.#send(response, receivedMs);
      return response?.length ?? 0;
    }
    this.#waiting += 1;
    response
      .then((one) => {
        this.#waiting -= 1;
        this.#send(one, receivedMs);
        this.takePackets();
      })
      .catch(() => this.#socket.destroy());
    return 0;
  }

  #touch(): void {
    this.#cancelIdle();
    this.#cancelIdle = this.#options.clock.setTimer(IDLE_MS, () => this.#socket.destroy());
  }

  #send(response: Buffer | undefined, receivedMs: number): void {
    if (response === undefined || !this.#socket.writable) return;
    countAnswer(this.#options, response, receivedMs);
    const length = Buffer.allocUnsafe(LENGTH_BYTES);
    length.writeUInt16BE(response.length);
    this.#socket.write(Buffer.concat([length, response]));
  }
}

/** Takes the first whole packet from the received bytes. */
function nextPacket(connection: { received: Buffer }): Buffer | undefined {
  const { received } = connection;
  if (received.length < LENGTH_BYTES) return undefined;
  const end = LENGTH_BYTES + received.readUInt16BE(0);
  if (received.length < end) return undefined;
  connection.received = received.subarray(end);
  return received.subarray(LENGTH_BYTES, end);
}
