import http2, { type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import { encodeProtobuf } from '@gantry/apimachinery';
import type { KubeObject } from '@gantry/objects';
import { type HttpTarget, pathOf } from '@gantry/client';
import type { Collection, Endpoint } from './endpoint.ts';
import { countFrames, countLines } from './event-counters.ts';

/** Window sizes of Go's client: a list must not wait for the window. */
const WINDOW_BYTES = 16 * 1024 * 1024;
const SESSIONS = 8;

type Form = 'JSON' | 'protobuf';

const MEDIA_TYPES: Readonly<Record<Form, string>> = {
  JSON: 'application/json',
  protobuf: 'application/vnd.kubernetes.protobuf',
};

/** REST over a few HTTP/2 connections. */
export async function openHttpEndpoint(target: HttpTarget, form: Form): Promise<Endpoint> {
  const sessions = await Promise.all(Array.from({ length: SESSIONS }, () => connect(target)));
  return new HttpEndpoint(sessions, form);
}

async function connect({ server, ca, cert, key }: HttpTarget): Promise<ClientHttp2Session> {
  const session = http2.connect(server, {
    ...(ca && { ca }),
    ...(cert && { cert }),
    ...(key && { key }),
    settings: { initialWindowSize: WINDOW_BYTES },
  });
  await new Promise<void>((resolve, reject) => {
    session.once('connect', () => resolve());
    session.once('error', reject);
  });
  session.setLocalWindowSize(WINDOW_BYTES);
  return session;
}

class HttpEndpoint implements Endpoint {
  readonly name: string;
  readonly #sessions: readonly ClientHttp2Session[];
  readonly #form: Form;
  #next = 0;

  constructor(sessions: readonly ClientHttp2Session[], form: Form) {
    this.name = `REST ${form}`;
    this.#sessions = sessions;
    this.#form = form;
  }

  async create({ resource, namespace }: Collection, object: KubeObject): Promise<void> {
    await this.#whole(this.#send('POST', pathOf(resource, namespace), object));
  }

  async get({ resource, namespace }: Collection, name: string): Promise<void> {
    await this.#whole(this.#send('GET', pathOf(resource, namespace, name)));
  }

  async update({ resource, namespace }: Collection, object: KubeObject): Promise<void> {
    const name = object.metadata.name ?? '';
    await this.#whole(this.#send('PUT', pathOf(resource, namespace, name), object));
  }

  list({ resource, namespace }: Collection): Promise<number> {
    return this.#whole(this.#send('GET', pathOf(resource, namespace)));
  }

  watch(
    { resource, namespace }: Collection,
    resourceVersion: string,
    onEvents: (count: number) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const path = `${pathOf(resource, namespace)}?watch=true&resourceVersion=${resourceVersion}`;
    const stream = this.#send('GET', path);
    const count = this.#form === 'JSON' ? countLines() : countFrames();
    signal.addEventListener('abort', () => stream.close(http2.constants.NGHTTP2_CANCEL), { once: true });
    return new Promise((resolve, reject) => {
      stream.on('data', (part: Buffer) => onEvents(count(part)));
      stream.on('error', reject);
      stream.on('close', () => (signal.aborted ? resolve() : reject(new Error('the server ended a watch'))));
    });
  }

  [Symbol.dispose](): void {
    for (const session of this.#sessions) session.destroy();
  }

  #send(method: string, path: string, object?: KubeObject): ClientHttp2Stream {
    const session = this.#sessions[this.#next++ % this.#sessions.length];
    if (session === undefined) throw new Error('no connection');
    const type = MEDIA_TYPES[this.#form];
    const headers = { ':method': method, ':path': path, accept: type, 'user-agent': 'bench/1' };
    if (object === undefined) return session.request(headers, { endStream: true });
    const body = this.#form === 'JSON' ? Buffer.from(JSON.stringify(object)) : encodeProtobuf(object);
    const stream = session.request({ ...headers, 'content-type': type, 'content-length': body.length });
    stream.end(body);
    return stream;
  }

  #whole(stream: ClientHttp2Stream): Promise<number> {
    return new Promise((resolve, reject) => {
      let status = 0;
      let bytes = 0;
      let text = '';
      stream.on('response', (headers) => (status = headers[':status'] ?? 0));
      stream.on('data', (part: Buffer) => {
        bytes += part.length;
        if (status >= 400) text += part.toString();
      });
      stream.on('error', reject);
      stream.on('end', () => (status < 300 ? resolve(bytes) : reject(new Error(`${status} ${text}`))));
    });
  }
}
