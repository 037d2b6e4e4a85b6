import { request } from 'node:https';
import { Duplex } from 'node:stream';
import { WebSocket } from 'ws';
import { SpdyClient } from './spdy-client.ts';

/** A server on 127.0.0.1, and the client's certificate. A client without one is anonymous. */
export interface StreamTarget {
  readonly port: number;
  readonly ca: Buffer | string;
  readonly cert?: Buffer | string;
  readonly key?: Buffer | string;
  /** The name in the server's certificate, if it is not the address. */
  readonly servername?: string;
}

/** The result of an upgrade request. */
export type Upgraded =
  | { readonly code: 101; readonly headers: Readonly<Record<string, unknown>>; readonly socket: Duplex }
  | { readonly code: number; readonly headers: Readonly<Record<string, unknown>>; readonly text: string };

/** Sends an upgrade request. */
export function upgrade(
  target: StreamTarget,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<Upgraded> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', ...target, method, path, agent: false };
    const asked = request({ ...options, headers: { connection: 'Upgrade', ...headers } });
    asked.on('error', reject);
    asked.on('upgrade', (response, socket, head) => {
      if (head.length > 0) socket.unshift(head);
      resolve({ code: 101, headers: response.headers, socket });
    });
    asked.on('response', (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('end', () =>
        resolve({ code: response.statusCode ?? 0, headers: response.headers, text: Buffer.concat(parts).toString() }),
      );
    });
    asked.end();
  });
}

/** Opens SPDY with these subprotocols. Throws with the server's text if it refuses. */
export async function openSpdy(
  target: StreamTarget,
  path: string,
  ...protocols: readonly string[]
): Promise<SpdyClient> {
  const headers = { upgrade: 'SPDY/3.1', 'x-stream-protocol-version': protocols.join(', ') };
  const upgraded = await upgrade(target, 'POST', path, headers);
  if (!('socket' in upgraded)) throw new Error(`${upgraded.code} ${upgraded.text}`);
  return new SpdyClient(upgraded.socket);
}

/** A WebSocket of channels. */
export interface ChannelClient {
  readonly socket: WebSocket;
  readonly protocol: string;
  send(channel: number, data: string | Buffer): void;
  /** The received bytes of a channel, one character for each byte. */
  text(channel: number): string;
  /** Resolves with the code when the server has closed the connection. */
  readonly closed: Promise<number>;
}

/** Opens a WebSocket with these subprotocols. Throws with the server's text if it refuses. */
export async function openChannels(target: StreamTarget, path: string, ...protocols: string[]): Promise<ChannelClient> {
  const socket = new WebSocket(`wss://127.0.0.1:${target.port}${path}`, protocols, target);
  const isBase64 = protocols.some((name) => name.includes('base64'));
  const texts = new Map<number, Buffer[]>();
  socket.on('message', (data: Buffer) => {
    const channel = isBase64 ? (data[0] ?? 0) - 0x30 : (data[0] ?? 0);
    const bytes = isBase64 ? Buffer.from(data.toString('latin1', 1), 'base64') : data.subarray(1);
    texts.set(channel, [...(texts.get(channel) ?? []), bytes]);
  });
  const closed = new Promise<number>((resolve) => socket.once('close', resolve));
  await new Promise<void>((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
    socket.once('unexpected-response', (_, { statusCode }) => reject(new Error(String(statusCode))));
  });
  return {
    socket,
    protocol: socket.protocol,
    send: (channel, data) => {
      const bytes = Buffer.from(data);
      if (isBase64) socket.send(`${channel}${bytes.toString('base64')}`);
      else socket.send(Buffer.concat([Buffer.from([channel]), bytes]));
    },
    text: (channel) => Buffer.concat(texts.get(channel) ?? []).toString('latin1'),
    closed,
  };
}

/** The bytes in the binary messages of a WebSocket. A minimal client, independent of the library. */
export class TunnelClient extends Duplex {
  readonly #socket: Duplex;
  #pending = Buffer.alloc(0);

  constructor(socket: Duplex) {
    super({ allowHalfOpen: false });
    this.#socket = socket;
    socket.on('data', (bytes: Buffer) => this.#receive(bytes));
    socket.on('end', () => this.push(null));
    socket.on('error', () => this.destroy());
    socket.on('close', () => this.push(null));
  }

  override _read(): void {
    // Everything is pushed as soon as it arrives.
  }

  override _write(data: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    const header = Buffer.alloc(8);
    header[0] = 0x82;
    header[1] = 0x80 | 126;
    header.writeUInt16BE(data.length, 2);
    // The mask is zero, which leaves the data unchanged.
    this.#socket.write(Buffer.concat([header, data]), done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }

  #receive(bytes: Buffer): void {
    this.#pending = Buffer.concat([this.#pending, bytes]);
    for (;;) {
      const short = (this.#pending[1] ?? 0) & 0x7f;
      const at = short === 126 ? 4 : 2;
      if (this.#pending.length < at) return;
      const length = short === 126 ? this.#pending.readUInt16BE(2) : short;
      if (this.#pending.length < at + length) return;
      const isData = ((this.#pending[0] ?? 0) & 0x0f) === 2;
      const data = this.#pending.subarray(at, at + length);
      this.#pending = this.#pending.subarray(at + length);
      if (isData) this.push(data);
    }
  }
}
