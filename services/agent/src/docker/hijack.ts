import { type IncomingMessage, request } from 'node:http';
import type Docker from 'dockerode';
import { EngineSocket } from './engine-socket.ts';

/** The client library's default socket. */
const ENGINE_SOCKET = '/var/run/docker.sock';
/** The limit for the body of a refusal. */
const MAX_REFUSAL_BYTES = 64 * 1024;

/**
 * Keys that detach a client from a terminal. The engine cannot disable them, so this is a sequence that nobody types. Since the engine
 * reports a command's keys, they also show which commands an agent has started.
 */
export const DETACH_KEYS = 'ctrl-@,ctrl-_,ctrl-@,ctrl-^,ctrl-@,ctrl-],ctrl-@,ctrl-_';
/** The same keys as the engine reports them: base64 of the bytes. */
export const DETACH_KEYS_TOLD = Buffer.from([0, 31, 0, 30, 0, 29, 0, 31]).toString('base64');

/** A refused request, in the form of the client library's errors. */
export class EngineRefusal extends Error {
  override readonly name = 'EngineRefusal';
  readonly statusCode: number;
  readonly json: unknown;

  constructor(statusCode: number, json: unknown) {
    super(`the engine refused the connection (${statusCode})`);
    this.statusCode = statusCode;
    this.json = json;
  }
}

/** The request for a hijacked connection. */
interface Hijack {
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: object;
  readonly abort: AbortSignal;
}

/**
 * Sends a request whose connection becomes that of a process: raw bytes in both directions, each of which can be closed separately. The
 * client library cannot do this: it sends an empty body in chunks, and engines take the end of the body for the end of standard input.
 */
export function hijack(docker: Docker, { path, query = {}, body, abort }: Hijack): Promise<EngineSocket> {
  const { socketPath } = docker.modem as { readonly socketPath?: string };
  const socket = new EngineSocket();
  const content = body === undefined ? '' : JSON.stringify(body);
  const sent = request({
    createConnection: () => socket.connect(socketPath ?? ENGINE_SOCKET),
    path: `${path}?${new URLSearchParams(query).toString()}`,
    method: 'POST',
    headers: {
      connection: 'Upgrade',
      upgrade: 'tcp',
      'content-length': Buffer.byteLength(content),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    signal: abort,
  });
  return new Promise((resolve, reject) => {
    sent.once('error', reject);
    sent.once('upgrade', (_response, _socket, head) => {
      socket.beginRaw(head);
      resolve(socket);
    });
    sent.once('response', (response) => {
      readRefusal(response).then(reject, reject);
    });
    sent.end(content);
  });
}

async function readRefusal(response: IncomingMessage): Promise<Error> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of response as AsyncIterable<Uint8Array>) {
    size += part.length;
    if (size <= MAX_REFUSAL_BYTES) parts.push(part);
  }
  const text = Buffer.concat(parts).toString('utf8');
  return new EngineRefusal(response.statusCode ?? 0, parseObject(text));
}

function parseObject(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The response is not the engine's own.
    return { message: text };
  }
}
