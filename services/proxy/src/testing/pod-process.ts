/**
 * A process in a test's network namespace. It takes commands as lines of JSON, and answers each with a line. `connect` sends bytes over
 * TCP and returns the address that the server has seen. `connectAgain` connects repeatedly for a time. `listen` serves these connections
 * and keeps the datagrams at the same port. `send` sends a datagram. `received` returns the texts of the received datagrams.
 */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { createInterface } from 'node:readline';

interface Command {
  readonly id: number;
  readonly kind: 'connect' | 'connectAgain' | 'listen' | 'send' | 'received';
  readonly address: string;
  readonly port: number;
  /** The payload of a datagram in hexadecimal digits. */
  readonly payload: string;
  /** The address from which a datagram is sent. Empty for the default. */
  readonly source: string;
  /** How many bytes are sent over a connection and returned. */
  readonly bytes: number;
  readonly timeoutMs: number;
}

const received: string[] = [];

async function listen({ port }: Command): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.write(`${socket.remoteAddress ?? ''}\n`);
    socket.pipe(socket);
  });
  server.listen(port, '0.0.0.0');
  const datagrams = createSocket('udp4');
  datagrams.on('message', (message, { address }) => received.push(`${address} ${message.toString('utf8')}`));
  datagrams.bind(port);
  await Promise.all([once(server, 'listening'), once(datagrams, 'listening')]);
  return '';
}

/** Returns the address that the server saw. Returns `failed` if there was no connection or not all bytes came back in time. */
async function reach({ address, port, bytes, timeoutMs }: Command): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const socket = connect({ host: address, port });
  const timer = setTimeout(() => resolve('failed'), timeoutMs);
  let text = '';
  socket.setEncoding('latin1').on('data', (part: string) => {
    text += part;
    const line = text.indexOf('\n');
    if (line >= 0 && text.length === line + 1 + bytes) resolve(text.slice(0, line));
  });
  socket.on('error', () => resolve('failed'));
  socket.on('connect', () => socket.write(Buffer.alloc(bytes)));
  const seen = await promise;
  clearTimeout(timer);
  socket.destroy();
  return seen;
}

/** Returns the milliseconds of each connection, or an error's code if one fails. */
async function connectAgain({ address, port, timeoutMs }: Command): Promise<readonly number[] | string> {
  const times: number[] = [];
  const end = performance.now() + timeoutMs;
  for (let start = performance.now(); start < end; start = performance.now()) {
    const { promise, resolve } = Promise.withResolvers<string>();
    const socket = connect({ host: address, port, noDelay: true });
    socket.on('connect', () => resolve('')).on('error', ({ message }) => resolve(message));
    const failure = await promise;
    if (failure !== '') return failure;
    times.push(performance.now() - start);
    socket.resetAndDestroy();
  }
  return times;
}

async function send({ address, port, payload, source }: Command): Promise<string> {
  const socket = createSocket('udp4');
  if (source !== '') {
    socket.bind(0, source);
    await once(socket, 'listening');
  }
  const { promise, resolve } = Promise.withResolvers<string>();
  socket.send(Buffer.from(payload, 'hex'), port, address, (error) => resolve(error?.message ?? ''));
  const result = await promise;
  socket.close();
  return result;
}

async function carryOut(command: Command): Promise<unknown> {
  switch (command.kind) {
    case 'listen':
      return await listen(command);
    case 'connect':
      return await reach(command);
    case 'connectAgain':
      return await connectAgain(command);
    case 'send':
      return await send(command);
    case 'received':
      return received;
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line) as Command;
  void carryOut(command).then((result) => process.stdout.write(`${JSON.stringify({ id: command.id, result })}\n`));
}
process.exit(0);
