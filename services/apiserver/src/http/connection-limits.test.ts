import { type EventEmitter, once } from 'node:events';
import type { ClientRequest, IncomingMessage } from 'node:http';
import http2 from 'node:http2';
import { Agent, get as httpsGet } from 'node:https';
import { connect as connectPlain } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { type ConnectionLimits, silentLogger, Starts } from '@gantry/service';
import { fixedTls } from '@gantry/tls';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '@gantry/base';
import { createFastClock } from '../testing/fast-clock.ts';
import { createTestPki, type TestPki } from '../testing/test-pki.ts';
import { connectionOf, transportOf } from './client-connection.ts';
import { httpsServer, type HttpsServerOptions } from './https-server.ts';

const fastClock = createFastClock();
const LONG = { perOwner: 100, total: 1000, anonymousIdleMs: 10_000_000, idleMs: 10_000_000 };
let pki: TestPki;
let port = 0;
let stop: () => Promise<void>;
let release: () => void;
let answerLater: (() => void) | undefined;

/** Starts a server. Requests end at once, except those for `/lasting`. The header `user` names the user. */
async function start(limits: ConnectionLimits, clock: Clock = fastClock): Promise<void> {
  const serve: HttpsServerOptions['serve'] = (req, res) => {
    const { user } = req.headers;
    if (typeof user === 'string') connectionOf(transportOf(req))?.belongsTo(user);
    if (req.url === '/lasting') res.write('begun');
    else if (req.url === '/later') answerLater = () => res.end('ok');
    else res.end('ok');
  };
  const listening = Promise.withResolvers<number>();
  const server = httpsServer({
    starts: new Starts(systemClock),
    serve,
    tls: fixedTls(await pki.issue('apiserver', [])),
    host: '127.0.0.1',
    port: 0,
    clock,
    logger: silentLogger,
    limits,
    onDrain: () => undefined,
    onListening: listening.resolve,
    mayUpgrade: () => false,
  });
  release = () => server.releaseConnections();
  const stopping = new AbortController();
  const running = server.run(stopping.signal);
  stop = async () => {
    stopping.abort();
    await server.close?.();
    await running;
  };
  port = await listening.promise;
}

beforeAll(async () => {
  pki = await createTestPki(fastClock.now());
});
afterEach(() => {
  answerLater = undefined;
  return stop();
});

function session(options: http2.SecureClientSessionOptions = {}): http2.ClientHttp2Session {
  const made = http2.connect(`https://127.0.0.1:${port}`, { ca: pki.ca, ...options });
  made.on('error', () => undefined); // The error of a closed session varies, so only the close is checked.
  return made;
}

async function get(over: http2.ClientHttp2Session, path: string, headers = {}): Promise<number> {
  const stream = over.request({ ':path': path, ...headers });
  const [answer] = (await once(stream, 'response')) as [{ ':status': number }];
  stream.resume();
  if (path !== '/lasting') await once(stream, 'close');
  return answer[':status'];
}

function openTls(alpn: readonly string[]): TLSSocket {
  const socket = connectTls({ port, host: '127.0.0.1', ca: pki.ca, ALPNProtocols: [...alpn] });
  socket.on('error', () => undefined); // The error of a closed socket varies, so only the close is checked.
  socket.resume();
  return socket;
}

/** Resolves at the close event. Unlike `once`, it does not reject after an error event. */
function closed(emitter: EventEmitter & { readonly destroyed?: boolean }): Promise<unknown> {
  if (emitter.destroyed === true) return Promise.resolve();
  return new Promise((resolve) => emitter.once('close', resolve));
}

describe('a connection that is not used', () => {
  it.each([
    ['of HTTP/2 without a stream', () => session()],
    ['of HTTP/2 that was never greeted', () => openTls(['h2'])],
    ['of HTTP/1.1 without a request', () => openTls(['http/1.1'])],
    ['without a handshake', () => connectPlain({ port, host: '127.0.0.1' }).resume()],
  ])('%s is closed', async (_, open) => {
    await start({ ...LONG, anonymousIdleMs: 10_000 });
    await closed(open());
  });

  it('of HTTP/1.1 with headers that never end is closed', async () => {
    await start({ ...LONG, anonymousIdleMs: 10_000 });
    const socket = openTls(['http/1.1']);
    socket.write('GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ');
    await closed(socket);
  });

  it('of HTTP/2 with headers that never end is closed', async () => {
    await start({ ...LONG, anonymousIdleMs: 10_000 });
    const socket = openTls(['h2']);
    // The preface, SETTINGS, and HEADERS of stream 1 without END_HEADERS.
    socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
    socket.write(Buffer.from('000000040000000000' + '000003010000000001' + '828487', 'hex'));
    await closed(socket);
  });

  it('stays open as long as a request lasts', async () => {
    await start({ ...LONG, anonymousIdleMs: 10_000, idleMs: 10_000 });
    const busy = session();
    expect(await get(busy, '/lasting')).toBe(200);
    const idle = session();
    await closed(idle);
    expect(busy.closed).toBe(false);
    busy.destroy();
  });

  it('is closed when its client answers no pings', async () => {
    await start(LONG);
    const socket = openTls(['h2']);
    socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
    socket.write(Buffer.from('000000040000000000', 'hex'));
    await closed(socket);
  });
});

describe('a server that releases its connections', () => {
  it('ends those of HTTP/1.1 after their response, and says so', async () => {
    await start(LONG);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const send = () => httpsGet({ host: '127.0.0.1', port, ca: pki.ca, agent, path: '/later' });
    const answerOf = async (request: ClientRequest) => {
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      const { socket, headers } = response;
      response.resume();
      await once(response, 'end');
      return { socket, connection: headers.connection };
    };
    const begin = async (request: ClientRequest) => {
      const before = answerLater;
      await once(request, 'socket');
      while (answerLater === before) await nextTurn();
    };
    const first = send();
    await begin(first);
    answerLater?.();
    const kept = await answerOf(first);
    expect(kept.connection).toBe('keep-alive');
    // One that idles, and one whose request runs.
    for (const when of ['before', 'during'] as const) {
      if (when === 'before') release();
      const request = send();
      await begin(request);
      if (when === 'during') release();
      answerLater?.();
      const answer = await answerOf(request);
      expect(answer.connection).toBe('close');
      await closed(answer.socket);
    }
    const fresh = send();
    await begin(fresh);
    answerLater?.();
    expect((await answerOf(fresh)).connection).toBe('keep-alive');
    agent.destroy();
  });

  it('lets the streams of HTTP/2 end by themselves, and gets new ones over new connections', async () => {
    await start(LONG);
    const over = session();
    const lasting = over.request({ ':path': '/later' });
    await once(over, 'connect');
    while (answerLater === undefined) await nextTurn();
    release();
    await once(over, 'goaway');
    expect(over.destroyed).toBe(false);
    answerLater?.();
    const [answer] = (await once(lasting, 'response')) as [{ ':status': number }];
    expect(answer[':status']).toBe(200);
    lasting.resume();
    await closed(over);
    const other = session();
    expect(await get(other, '/')).toBe(200);
    other.destroy();
  });
});

describe('many connections', () => {
  it('of anonymous clients keep no others out', async () => {
    // The real clock, so that no ping is late on a busy machine.
    await start({ ...LONG, perOwner: 20 }, systemClock);
    const known = session();
    expect(await get(known, '/', { user: 'admin' })).toBe(200);
    const flood = Array.from({ length: 60 }, () => session());
    await Promise.all(flood.slice(0, 40).map((one) => closed(one)));
    const late = session();
    expect(await get(late, '/', { user: 'admin' })).toBe(200);
    expect(await get(known, '/')).toBe(200);
    for (const one of [...flood, known, late]) one.destroy();
  });

  it('of one user close those of that user that idle', async () => {
    await start({ ...LONG, perOwner: 3 });
    const other = session();
    expect(await get(other, '/', { user: 'other' })).toBe(200);
    const own = [];
    for (let i = 0; i < 4; i++) {
      const one = session();
      own.push(one);
      expect(await get(one, '/', { user: 'mallory' })).toBe(200);
    }
    const [first] = own;
    if (first?.closed === false) await closed(first);
    expect(await get(other, '/')).toBe(200);
    for (const one of [...own, other]) one.destroy();
  });
});

describe('a flood of frames closes its session', () => {
  const flood = async (over: http2.ClientHttp2Session, send: () => void): Promise<void> => {
    await once(over, 'connect');
    const ended = closed(over);
    for (let i = 0; i < 3000 && !over.destroyed && !over.closed; i++) {
      send();
      if (i % 100 === 99) await nextTurn();
    }
    await ended;
  };

  it('of PING', async () => {
    await start(LONG);
    const over = session({ maxOutstandingPings: 100_000 });
    await flood(over, () => over.ping(() => undefined));
  });

  it('of SETTINGS', async () => {
    await start(LONG);
    const over = session({ maxOutstandingSettings: 100_000 } as http2.SecureClientSessionOptions);
    await flood(over, () => over.settings({ initialWindowSize: 65_535 }));
  });

  it('of streams that are reset at once', async () => {
    await start(LONG);
    const socket = openTls(['h2']);
    const ended = closed(socket);
    socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
    socket.write(Buffer.from('000000040000000000', 'hex'));
    for (let id = 1; id < 6000 && !socket.destroyed; id += 2) {
      const stream = id.toString(16).padStart(8, '0');
      // HEADERS of a whole request, and RST_STREAM with CANCEL.
      socket.write(Buffer.from(`0000030105${stream}828487` + `0000040300${stream}00000008`, 'hex'));
      if (id % 200 === 1) await nextTurn();
    }
    await ended;
  });

  it('of headers', async () => {
    await start(LONG);
    const over = session({ maxSendHeaderBlockLength: 1_000_000 });
    const stream = over.request({ ':path': '/', 'x-large': 'x'.repeat(200_000) });
    const answered = await new Promise((resolve) => {
      stream.once('response', ({ ':status': status }) => resolve(status));
      stream.once('error', () => resolve('refused'));
      stream.once('close', () => resolve('refused'));
    });
    expect(answered).not.toBe(200);
    over.destroy();
    const next = session();
    expect(await get(next, '/')).toBe(200);
    next.destroy();
  });
});
