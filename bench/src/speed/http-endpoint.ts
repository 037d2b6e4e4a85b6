import http2, { type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import { encodeProtobuf } from '@gantry/apimachinery';
import type { JsonObject, KubeObject } from '@gantry/objects';
import { type HttpTarget, pathOf } from '@gantry/client';
import { type Collection, type Endpoint, type EndpointKind, type ListForm, PAGE } from './endpoint.ts';
import { countFrames, countLines } from './event-counters.ts';

/** Window sizes of Go's client: a list must not wait for the window. */
const WINDOW_BYTES = 16 * 1024 * 1024;
/** For how long a request may wait for the next byte. */
const SILENCE_MS = 60_000;
const UNREAD_A_SESSION = 25;
const UNREAD_WINDOW_BYTES = 64 * 1024;
/** In a list's first bytes: base64url of `{"v":"`, with which Kubernetes' tokens begin. */
const CONTINUE_TOKEN = /eyJ2Ijoi[\w-]+={0,2}/;
const HEAD_BYTES = 1024;

type Form = 'JSON' | 'protobuf';

const MEDIA_TYPES: Readonly<Record<Form, string>> = {
  JSON: 'application/json',
  protobuf: 'application/vnd.kubernetes.protobuf',
};

const LIST_FORMS: Readonly<Partial<Record<ListForm, string>>> = {
  metadata: ';as=PartialObjectMetadataList;g=meta.k8s.io;v=v1',
  table: ';as=Table;g=meta.k8s.io;v=v1',
};

/** REST over HTTP/2. */
export function httpKind(target: HttpTarget, form: Form, silenceMs = SILENCE_MS): EndpointKind {
  return {
    name: `REST ${form}`,
    forms: form === 'JSON' ? ['whole', 'pages', 'metadata', 'table'] : ['whole', 'pages', 'metadata'],
    open: async (connections) => {
      const sessions = await Promise.all(Array.from({ length: connections }, () => connect(target)));
      for (const session of sessions) session.setLocalWindowSize(WINDOW_BYTES);
      return new HttpEndpoint(sessions, form, silenceMs);
    },
  };
}

async function connect(
  { server, ca, cert, key }: HttpTarget,
  initialWindowSize = WINDOW_BYTES,
): Promise<ClientHttp2Session> {
  const session = http2.connect(server, {
    ...(ca && { ca }),
    ...(cert && { cert }),
    ...(key && { key }),
    settings: { initialWindowSize },
  });
  await new Promise<void>((resolve, reject) => {
    session.once('connect', () => resolve());
    session.once('error', reject);
  });
  return session;
}

/** Opens watches on connections of their own, which read nothing after the headers: the server soon has to keep what it would send. */
export async function openUnreadWatches(
  target: HttpTarget,
  { resource, namespace }: Collection,
  count: number,
): Promise<Disposable> {
  const sessions = await Promise.all(
    Array.from({ length: Math.ceil(count / UNREAD_A_SESSION) }, () => connect(target, UNREAD_WINDOW_BYTES)),
  );
  const path = `${pathOf(resource, namespace)}?watch=true&resourceVersion=0`;
  const headers = { ':method': 'GET', ':path': path, accept: MEDIA_TYPES.JSON, 'user-agent': 'bench/1' };
  const opened = sessions.flatMap((session, index) => {
    const own = Math.min(UNREAD_A_SESSION, count - index * UNREAD_A_SESSION);
    return Array.from({ length: own }, () => {
      const stream = session.request(headers, { endStream: true });
      // The server may end a watch that is too far behind.
      stream.on('error', () => undefined);
      return new Promise((resolve) => stream.once('response', resolve).once('close', resolve));
    });
  });
  await Promise.all(opened);
  return { [Symbol.dispose]: () => sessions.forEach((session) => session.destroy()) };
}

class HttpEndpoint implements Endpoint {
  readonly #sessions: readonly ClientHttp2Session[];
  readonly #form: Form;
  readonly #silenceMs: number;
  #next = 0;

  constructor(sessions: readonly ClientHttp2Session[], form: Form, silenceMs: number) {
    this.#sessions = sessions;
    this.#form = form;
    this.#silenceMs = silenceMs;
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

  async patch({ resource, namespace }: Collection, name: string, merge: JsonObject): Promise<void> {
    const body = Buffer.from(JSON.stringify(merge));
    await this.#whole(this.#request('PATCH', pathOf(resource, namespace, name), body, 'application/merge-patch+json'));
  }

  async delete({ resource, namespace }: Collection, name: string): Promise<void> {
    await this.#whole(this.#send('DELETE', pathOf(resource, namespace, name)));
  }

  async list({ resource, namespace }: Collection, form: ListForm): Promise<number> {
    const path = pathOf(resource, namespace);
    const accept = `${MEDIA_TYPES[this.#form]}${LIST_FORMS[form] ?? ''}`;
    if (form !== 'pages') return (await this.#whole(this.#request('GET', path, undefined, '', accept))).bytes;
    let bytes = 0;
    let token: string | undefined = '';
    while (token !== undefined) {
      const page = await this.#whole(this.#send('GET', `${path}?limit=${PAGE}&continue=${token}`));
      bytes += page.bytes;
      token = CONTINUE_TOKEN.exec(page.head)?.[0];
    }
    return bytes;
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
    if (object === undefined) return this.#request(method, path);
    const body = this.#form === 'JSON' ? Buffer.from(JSON.stringify(object)) : encodeProtobuf(object);
    return this.#request(method, path, body);
  }

  #request(
    method: string,
    path: string,
    body?: Uint8Array,
    contentType = MEDIA_TYPES[this.#form],
    accept = MEDIA_TYPES[this.#form],
  ): ClientHttp2Stream {
    const session = this.#sessions[this.#next++ % this.#sessions.length];
    if (session === undefined) throw new Error('no connection');
    const headers = { ':method': method, ':path': path, accept, 'user-agent': 'bench/1' };
    if (body === undefined) return session.request(headers, { endStream: true });
    const stream = session.request({ ...headers, 'content-type': contentType, 'content-length': body.length });
    stream.end(body);
    return stream;
  }

  #whole(stream: ClientHttp2Stream): Promise<{ readonly bytes: number; readonly head: string }> {
    return new Promise((resolve, reject) => {
      let status = 0;
      let bytes = 0;
      let head = '';
      stream.on('response', (headers) => (status = headers[':status'] ?? 0));
      stream.on('data', (part: Buffer) => {
        bytes += part.length;
        if (head.length < HEAD_BYTES) head += part.toString('latin1', 0, HEAD_BYTES);
      });
      stream.on('error', reject);
      stream.on('end', () => {
        if (status >= 200 && status < 300) resolve({ bytes, head });
        // Without a response, the server has cancelled it: that is no error of the stream.
        else reject(new Error(status === 0 ? 'the server ended a request' : `${status} ${head}`));
      });
      stream.setTimeout(this.#silenceMs, () => stream.destroy(new Error(`no byte for ${this.#silenceMs} ms`)));
    });
  }
}
