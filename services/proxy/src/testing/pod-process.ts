/**
 * A process in a network namespace of a test: takes commands as lines of JSON, and answers each with a line. `connect` sends bytes over TCP and
 * gives the address that the server has seen; `connectAgain` connects one after another for a time; `listen` serves that, and keeps the datagrams that come to the same port; `send` sends a
 * datagram; `received` gives the texts of those that came.
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
  /** Of a datagram, in hexadecimal digits. */
  readonly payload: string;
  /** From which a datagram is sent; '' for the usual one. */
  readonly source: string;
  /** How many are sent over a connection, and come back. */
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

/** The address that the server saw; `failed` where there was no connection, or not all bytes came back, within the time. */
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

/** The milliseconds of each connection; an error's code for one that fails. */
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
