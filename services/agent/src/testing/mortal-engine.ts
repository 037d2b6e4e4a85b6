import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import type { MortalCalls } from './mortal-agent.ts';
import { requestName } from '../docker/docker-runtime.ts';

/** A socket that leads to an engine while the agent lives. */
export interface MortalEngine extends AsyncDisposable {
  readonly socketPath: string;
}

/**
 * Counts an agent's requests to an engine when they are answered. If one call of the port makes several requests, each counts separately.
 * All connections end at the agent's death, as the kernel closes them for a killed process. So no cleanup of the agent reaches the
 * engine.
 */
export async function mortalEngine(engine: string, calls: MortalCalls): Promise<MortalEngine> {
  const folder = await mkdtemp(join(tmpdir(), 'mortal-engine-'));
  const socketPath = join(folder, 'engine.sock');
  const open = new Set<Duplex>();
  const isLost = ({ method = '', url = '' }: IncomingMessage) => calls.count(requestName(method, url)) === 'dead';
  const server = createServer((asked, answer) => pass(engine, asked, answer, isLost));
  server.on('upgrade', (asked: IncomingMessage, socket: Duplex, head: Buffer) => {
    passRaw(engine, asked, socket, head, isLost);
  });
  server.on('connection', (socket) => {
    // The connection was accepted before the death, but is reported only now.
    if (calls.death.signal.aborted) socket.destroy();
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  const end = () => {
    server.close();
    for (const socket of open) socket.destroy();
  };
  calls.death.signal.addEventListener('abort', end, { once: true });
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  return {
    socketPath,
    [Symbol.asyncDispose]: async () => {
      end();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

type IsLost = (asked: IncomingMessage) => boolean;

function pass(socketPath: string, asked: IncomingMessage, answer: ServerResponse, isLost: IsLost): void {
  const { url: path = '', method, headers } = asked;
  const passed = request({ socketPath, path, method, headers, agent: false }, (found) => {
    if (isLost(asked)) {
      answer.destroy();
      return;
    }
    answer.writeHead(found.statusCode ?? 0, found.headers);
    answer.flushHeaders();
    found.on('error', () => answer.destroy());
    found.pipe(answer);
  });
  passed.on('error', () => answer.destroy());
  answer.on('close', () => passed.destroy());
  asked.pipe(passed);
}

/** Handles requests whose connection becomes the connection of a process. */
function passRaw(path: string, asked: IncomingMessage, socket: Duplex, head: Buffer, isLost: IsLost): void {
  const passed = connect({ path, allowHalfOpen: true });
  const headers = asked.rawHeaders.flatMap((name, index, all) =>
    index % 2 === 0 ? [`${name}: ${all[index + 1]}`] : [],
  );
  passed.write([`${asked.method} ${asked.url} HTTP/1.1`, ...headers, '', ''].join('\r\n'));
  passed.write(head);
  passed.once('data', (first: Buffer) => {
    if (isLost(asked)) {
      socket.destroy();
      return;
    }
    socket.write(first);
    passed.pipe(socket);
  });
  passed.on('error', () => socket.destroy());
  socket.on('error', () => passed.destroy());
  socket.on('close', () => passed.destroy());
  socket.pipe(passed);
}
