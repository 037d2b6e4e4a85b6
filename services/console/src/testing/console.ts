import { randomBytes } from 'node:crypto';
import http from 'node:http';
import https from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { type Clock, systemClock } from '@gantry/base';
import { createTestPki } from '@gantry/apiserver/testing';
import { silentLogger } from '@gantry/service';
import { createApiServer } from '../api-server.ts';
import { OneTimeLinks } from '../one-time-links.ts';
import { createConsoleServer } from '../server.ts';
import { Sessions } from '../sessions.ts';

/** A console on a port of its own, and requests to it as a page of its origin sends them. */
export interface TestConsole extends AsyncDisposable {
  readonly port: number;
  readonly origin: string;
  readonly sessions: Sessions;
  call(method: string, path: string, options?: CallOptions): Promise<Reply>;
  /** Signs in with a token. */
  signIn(token: string): Promise<SignedInBrowser>;
}

/** What a browser has after it has signed in. */
export interface SignedInBrowser {
  readonly cookie: string;
  readonly csrf: string;
  /** Headers of a request of the page that changes something. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface CallOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Reply {
  readonly code: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
}

export interface TestConsoleOptions {
  readonly url: string;
  readonly ca: string;
  readonly clock?: Clock;
  readonly webDir?: string;
  readonly limits?: Partial<ConstructorParameters<typeof Sessions>[0]>;
}

const LIMITS = { max: 8, maxOfUser: 4, maxRequests: 16, idleMs: 3_600_000, lifeMs: 12 * 3_600_000 };

export async function startConsole(options: TestConsoleOptions): Promise<TestConsole> {
  const { clock = systemClock } = options;
  const newSecret = () => randomBytes(32).toString('base64url');
  const sessions = new Sessions({ ...LIMITS, ...options.limits }, { clock, newSecret });
  const origins: string[] = [];
  const api = createApiServer(options.url, Buffer.from(options.ca));
  const stop = new AbortController();
  const server = createConsoleServer(
    {
      clusterId: 'test',
      api,
      sessions,
      links: new OneTimeLinks({ clock, newSecret }),
      clock,
      logger: silentLogger,
      origins,
      webDir: options.webDir ?? '/nonexistent',
      onAnswer: () => undefined,
      onOpen: () => undefined,
      onSignIn: () => undefined,
    },
    stop.signal,
  );
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  const origin = `http://127.0.0.1:${port}`;
  origins.push(origin);
  const call = (method: string, path: string, { headers = {}, body = '' }: CallOptions = {}): Promise<Reply> =>
    new Promise((resolve, reject) => {
      const length = body === '' ? {} : { 'content-length': String(Buffer.byteLength(body)) };
      const request = http.request({ host: '127.0.0.1', port, method, path, headers: { ...length, ...headers } });
      request.on('response', (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => (text += part));
        response.on('end', () => resolve({ code: response.statusCode ?? 0, headers: response.headers, text }));
        response.on('error', reject);
      });
      request.on('error', reject);
      request.end(body);
    });
  return {
    port,
    origin,
    sessions,
    call,
    signIn: async (token) => {
      const reply = await call('POST', '/session', {
        headers: { 'content-type': 'application/json', origin },
        body: JSON.stringify({ token }),
      });
      if (reply.code !== 200) throw new SignInError(`${reply.code} ${reply.text}`);
      const cookie = (reply.headers['set-cookie']?.[0] ?? '').split(';')[0] ?? '';
      const { csrf } = JSON.parse(reply.text) as { readonly csrf: string };
      return { cookie, csrf, headers: { cookie, 'x-csrf-token': csrf, origin } };
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      api.agent.destroy();
      server.closeAllConnections();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}

class SignInError extends Error {
  override readonly name = 'SignInError';
}

/** An HTTPS server in place of the API server, which knows each token `token-NAME` as the user NAME and leaves the rest to handlers. */
export interface FakeApi extends AsyncDisposable {
  readonly url: string;
  readonly ca: string;
  serve: (req: http.IncomingMessage, res: http.ServerResponse) => void;
  /** Answers who has a token. */
  review: (req: http.IncomingMessage, res: http.ServerResponse) => void;
  upgrade: (req: http.IncomingMessage, socket: Socket, head: Buffer) => void;
}

export async function startFakeApi(): Promise<FakeApi> {
  const pki = await createTestPki(systemClock.now());
  const { cert, key } = await pki.issue('system:apiserver', [], ['localhost']);
  const server = https.createServer({ cert, key });
  const fake: Pick<FakeApi, 'serve' | 'review' | 'upgrade'> = {
    review: reviewSelf,
    serve: (_req, res) => void res.writeHead(404).end(),
    upgrade: (_req, socket) => void socket.destroy(),
  };
  server.on('request', (req, res) => {
    if (req.url === '/version') res.end('{"gitVersion":"v1.36.2"}');
    else if (req.url === '/apis/authentication.k8s.io/v1/selfsubjectreviews') fake.review(req, res);
    else fake.serve(req, res);
  });
  server.on('upgrade', (req, socket: Socket, head) => {
    socket.on('error', () => undefined);
    fake.upgrade(req, socket, head);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return Object.assign(fake, {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ca: pki.ca,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
    },
  });
}

function reviewSelf(req: http.IncomingMessage, res: http.ServerResponse): void {
  const [, username] = /^Bearer token-(\w+)$/.exec(req.headers.authorization ?? '') ?? [];
  res.setHeader('content-type', 'application/json');
  if (username === undefined) {
    const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'Unauthorized', code: 401 };
    res.writeHead(401).end(JSON.stringify({ ...status, message: 'Unauthorized' }));
    return;
  }
  res.writeHead(201).end(JSON.stringify({ status: { userInfo: { username, groups: ['system:authenticated'] } } }));
}
