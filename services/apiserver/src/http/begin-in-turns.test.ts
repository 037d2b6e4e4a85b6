import { once } from 'node:events';
import { setImmediate as nextRound } from 'node:timers/promises';
import { connect as connectTcp } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { silentLogger, Starts } from '@gantry/service';
import { fixedTls } from '@gantry/tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createFastClock } from '../testing/fast-clock.ts';
import { createTestPki } from '../testing/test-pki.ts';
import { connectionOf, transportOf } from './client-connection.ts';
import { httpsServer, type HttpsServerOptions } from './https-server.ts';

/** Number of rounds that is more than enough for a handshake or a request in this process. */
const ROUNDS = 200;

async function manyRounds(): Promise<void> {
  for (let i = 0; i < ROUNDS; i++) await nextRound();
}

describe('a server whose rounds have no time left', () => {
  const clock = createFastClock();
  let port: number;
  let stop: () => Promise<void>;
  let begun: number;
  /** The paths of the started requests. */
  let paths: string[];
  /** Milliseconds that pass at each read of the clock: with 0 every round has time left, with 20 none has. */
  let look: number;

  beforeEach(async () => {
    begun = 0;
    paths = [];
    look = 0;
    let now = 0;
    const serve: HttpsServerOptions['serve'] = (req, res) => {
      begun++;
      paths.push(req.url ?? '');
      const { user } = req.headers;
      if (typeof user === 'string') connectionOf(transportOf(req))?.belongsTo(user);
      res.end('ok');
    };
    const listening = Promise.withResolvers<number>();
    const pki = await createTestPki(clock.now());
    const server = httpsServer({
      serve,
      tls: fixedTls(await pki.issue('apiserver', [])),
      host: '127.0.0.1',
      port: 0,
      clock,
      starts: new Starts({ monotonicMs: () => (now += look) }, { ofSource: 20, total: 100, sources: 100 }),
      logger: silentLogger,
      onDrain: () => undefined,
      onListening: listening.resolve,
      mayUpgrade: () => false,
    });
    const stopping = new AbortController();
    const running = server.run(stopping.signal);
    stop = async () => {
      stopping.abort();
      await server.close?.();
      await running;
    };
    port = await listening.promise;
  });
  afterEach(() => stop());

  const open = (): TLSSocket => connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
  const REQUEST = 'GET /a HTTP/1.1\r\nHost: a\r\n\r\n';

  it('begins no handshake, and begins it when there is time', async () => {
    look = 20;
    const socket = open();
    let secured = false;
    socket.once('secureConnect', () => {
      secured = true;
    });
    await once(socket, 'connect');
    await manyRounds();
    expect(secured).toBe(false);
    look = 0;
    if (!secured) await once(socket, 'secureConnect');
    socket.destroy();
  });

  it('begins no request, and begins it when there is time', async () => {
    const socket = open();
    await once(socket, 'secureConnect');
    look = 20;
    socket.write(REQUEST);
    await manyRounds();
    expect(begun).toBe(0);
    look = 0;
    const [response] = (await once(socket, 'data')) as [Buffer];
    expect(response.toString()).toContain('200 OK');
    socket.destroy();
  });

  it('does not begin what its client has given up', async () => {
    const [leaving, staying] = [open(), open()];
    await Promise.all([once(leaving, 'secureConnect'), once(staying, 'secureConnect')]);
    look = 20;
    leaving.write(REQUEST);
    await manyRounds();
    leaving.destroy();
    await manyRounds();
    staying.write(REQUEST);
    await manyRounds();
    look = 0;
    await once(staying, 'data');
    expect(begun).toBe(1);
    staying.destroy();
  });

  /** Opens a connection with a known user: it has already received a response. */
  const openAs = async (user: string): Promise<TLSSocket> => {
    const socket = open();
    await once(socket, 'secureConnect');
    socket.write(`GET /hello HTTP/1.1\r\nHost: a\r\nUser: ${user}\r\n\r\n`);
    await once(socket, 'data');
    return socket;
  };

  it('lets users take turns, whatever the number of their requests', async () => {
    const crowd = await Promise.all(Array.from({ length: 15 }, () => openAs('crowd')));
    const [node, leader] = [await openAs('node'), await openAs('leader')];
    paths = [];
    look = 20;
    for (const socket of crowd) socket.write(REQUEST);
    await manyRounds();
    node.write('GET /beat HTTP/1.1\r\nHost: a\r\n\r\n');
    leader.write('GET /renew HTTP/1.1\r\nHost: a\r\n\r\n');
    await manyRounds();
    expect(paths).toEqual([]);
    look = 0;
    await Promise.all([...crowd, node, leader].map((socket) => once(socket, 'data')));
    expect(paths).toHaveLength(17);
    expect(new Set(paths.slice(0, 3))).toEqual(new Set(['/a', '/beat', '/renew']));
    for (const socket of [...crowd, node, leader]) socket.destroy();
  });

  it('refuses requests of a user of whom too many wait, and begins those of others', async () => {
    const crowd = await Promise.all(Array.from({ length: 20 }, () => openAs('crowd')));
    const [late, node] = [await openAs('crowd'), await openAs('node')];
    look = 20;
    for (const socket of crowd) socket.write(REQUEST);
    await manyRounds();
    late.write(REQUEST);
    const [refusal] = (await once(late, 'data')) as [Buffer];
    expect(refusal.toString()).toMatch(
      /^HTTP\/1\.1 429 [^]*retry-after: 1\r\n[^]*Too many requests, please try again later/,
    );
    node.write(REQUEST);
    await manyRounds();
    look = 0;
    const [response] = (await once(node, 'data')) as [Buffer];
    expect(response.toString()).toContain('200 OK');
    for (const socket of [...crowd, late, node]) socket.destroy();
  });

  it('survives a client that leaves before its handshake begins', async () => {
    look = 20;
    const socket = connectTcp({ port, host: '127.0.0.1' });
    await once(socket, 'connect');
    socket.write('hello');
    await manyRounds();
    socket.resetAndDestroy();
    await manyRounds();
    look = 0;
    const other = open();
    await once(other, 'secureConnect');
    other.destroy();
  });
});
