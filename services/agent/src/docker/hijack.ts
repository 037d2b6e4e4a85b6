import { type IncomingMessage, request } from 'node:http';
import type Docker from 'dockerode';
import { EngineSocket } from './engine-socket.ts';

/** Where the client library looks for the engine by itself. */
const ENGINE_SOCKET = '/var/run/docker.sock';
/** Of an answer that refuses a request. */
const MAX_REFUSAL_BYTES = 64 * 1024;

/**
 * Keys that make the engine end an attachment to a terminal. They cannot be turned off, only made unlikely: this is a sequence that no
 * one types. Since the engine tells a command's keys, they also say which commands an agent has started.
 */
export const DETACH_KEYS = 'ctrl-@,ctrl-_,ctrl-@,ctrl-^,ctrl-@,ctrl-],ctrl-@,ctrl-_';
/** The same, as the engine tells it: base64 of the bytes. */
export const DETACH_KEYS_TOLD = Buffer.from([0, 31, 0, 30, 0, 29, 0, 31]).toString('base64');

/** A refusal, in the form of the client library's errors. */
class EngineRefusal extends Error {
  override readonly name = 'EngineRefusal';
  readonly statusCode: number;
  readonly json: unknown;

  constructor(statusCode: number, json: unknown) {
    super(`the engine refused the connection (${statusCode})`);
    this.statusCode = statusCode;
    this.json = json;
  }
}

/** What a connection is opened for. */
interface Hijack {
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: object;
  readonly abort: AbortSignal;
}

/**
 * A request whose connection becomes that of a process: raw bytes in both directions, of which each can be closed by itself. The client
 * library sends an empty body in chunks, and engines take its end for standard input.
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
    // Not the engine's own answer.
    return { message: text };
  }
}
