import { ManualClock } from '@gantry/base/testing';
import { StatusError } from '@gantry/objects';
import { describe, expect, it, onTestFinished } from 'vitest';
import { statusErrorFrom } from '../api/http.ts';
import { objectFormat, tableFormat } from './formats.ts';
import { LiveCollection } from './live-collection.ts';
import type { EventSocket } from './messages.ts';

interface Call {
  readonly query: URLSearchParams;
  /** Ends the request: with a body, or with a failure. */
  respond(body: unknown): Promise<void>;
  fail(code: number): Promise<void>;
  /** Begins a watch. */
  stream(): Promise<{ send(event: unknown): Promise<void>; text(part: string): Promise<void>; end(): Promise<void> }>;
}

const FORMAT = objectFormat(({ metadata }) => ({ uid: metadata.uid ?? '', name: metadata.name ?? '' }));
const object = (name: string, resourceVersion: string) => ({
  kind: 'Pod',
  metadata: { uid: name, name, resourceVersion },
});
const list = (resourceVersion: string, names: readonly string[], more?: string) => ({
  metadata: { resourceVersion, continue: more },
  items: names.map((name) => object(name, resourceVersion)),
});

/** A collection whose requests wait for the test. */
function start(at?: string, openSocket?: (path: string) => EventSocket) {
  const clock = new ManualClock();
  const calls: Call[] = [];
  const abort = new AbortController();
  onTestFinished(() => abort.abort());
  const fetch = (path: string, { signal }: { signal: AbortSignal }): Promise<Response> =>
    new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error));
      const query = new URL(path, 'http://test').searchParams;
      calls.push(createCall({ query, clock, signal, resolve, reject }));
    });
  const collection = new LiveCollection({
    fetch,
    path: '/api/v1/pods',
    format: FORMAT,
    clock,
    random: () => 0.5,
    at,
    openSocket,
  });
  const running = collection.run(abort.signal);
  const names = () => [...collection.view().rows.values()].map(({ name }) => name).sort();
  const next = async (): Promise<Call> => {
    await clock.advance(0);
    return calls.shift() ?? expect.fail('there is no request');
  };
  return { clock, calls, collection, names, next, abort, running };
}

interface Pending {
  readonly query: URLSearchParams;
  readonly clock: ManualClock;
  readonly signal: AbortSignal;
  readonly resolve: (response: Response) => void;
  readonly reject: (error: Error) => void;
}

function createCall({ query, clock, signal, resolve, reject }: Pending): Call {
  return {
    query,
    respond: async (body) => {
      resolve(Response.json(body));
      await clock.advance(0);
    },
    fail: async (code) => {
      reject(new StatusError('', `failed with ${code}`, { code }));
      await clock.advance(0);
    },
    stream: async () => {
      const { readable, writable } = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>();
      const writer = writable.getWriter();
      signal.addEventListener('abort', () => void writer.abort(signal.reason));
      const text = async (part: string) => {
        await writer.write(new TextEncoder().encode(part));
        await clock.advance(100);
      };
      resolve(new Response(readable));
      await clock.advance(0);
      return {
        text,
        send: (event) => text(`${JSON.stringify(event)}\n`),
        end: async () => {
          await writer.close();
          await clock.advance(0);
        },
      };
    },
  };
}

describe('LiveCollection', () => {
  it('lists in pages, then watches from the version of the list', async () => {
    const { next, names, collection } = start();
    const first = await next();
    expect(first.query.get('limit')).toBe('500');
    await first.respond(list('7', ['a'], 'more'));
    const second = await next();
    expect(second.query.get('continue')).toBe('more');
    expect(collection.view().phase).toBe('listing');
    await second.respond(list('7', ['b']));
    const watch = await next();
    expect(watch.query.get('resourceVersion')).toBe('7');
    await watch.stream();
    expect(collection.view().phase).toBe('live');
    expect(names()).toEqual(['a', 'b']);
  });

  it('applies events, of which a line may come in parts', async () => {
    const { next, names } = start();
    await (await next()).respond(list('7', ['a']));
    const watch = await (await next()).stream();
    await watch.send({ type: 'ADDED', object: object('b', '8') });
    await watch.text('{"type":"DELETED","obj');
    expect(names()).toEqual(['a', 'b']);
    await watch.text(`ect":${JSON.stringify(object('a', '9'))}}\n`);
    expect(names()).toEqual(['b']);
  });

  it('publishes many events as one view', async () => {
    const { next, collection } = start();
    await (await next()).respond(list('7', []));
    const watch = await (await next()).stream();
    let views = 0;
    collection.subscribe(() => views++);
    const events = Array.from({ length: 50 }, (_, i) =>
      JSON.stringify({ type: 'ADDED', object: object(`p${i}`, '8') }),
    );
    await watch.text(`${events.join('\n')}\n`);
    expect(collection.view().rows.size).toBe(50);
    expect(views).toBe(1);
  });

  it('continues after the end of a watch where it was', async () => {
    const { next, clock } = start();
    await (await next()).respond(list('7', []));
    const watch = await (await next()).stream();
    await watch.send({ type: 'BOOKMARK', object: { kind: 'Pod', metadata: { resourceVersion: '12' } } });
    await watch.end();
    await clock.advance(0);
    expect((await next()).query.get('resourceVersion')).toBe('12');
  });

  it('waits longer after each failure, says why, and keeps the rows', async () => {
    const { next, clock, collection, names, calls } = start();
    await (await next()).respond(list('7', ['a']));
    await (await next()).fail(503);
    expect(collection.view()).toMatchObject({ phase: 'broken', error: { message: 'failed with 503' } });
    expect(names()).toEqual(['a']);
    await clock.advance(499);
    expect(calls).toHaveLength(0);
    await clock.advance(1);
    await (await next()).fail(503);
    await clock.advance(999);
    expect(calls).toHaveLength(0);
    await clock.advance(1);
    await (await next()).stream();
    expect(collection.view()).toMatchObject({ phase: 'live', error: undefined });
  });

  it('lists again after 410 and keeps the old rows until the new list is complete', async () => {
    const { next, names } = start();
    await (await next()).respond(list('7', ['a', 'b']));
    const watch = await (await next()).stream();
    const gone = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' };
    await watch.send({ type: 'ERROR', object: gone });
    await (await next()).respond(list('90', ['b'], 'more'));
    expect(names()).toEqual(['a', 'b']);
    const second = await next();
    expect(second.query.has('resourceVersion')).toBe(false);
    await second.respond(list('90', ['c']));
    expect((await next()).query.get('resourceVersion')).toBe('90');
    expect(names()).toEqual(['b', 'c']);
  });

  it('lists at once after an outage of minutes, if the server has forgotten the version of its watch', async () => {
    const { next, clock, collection } = start();
    await (await next()).respond(list('7', []));
    for (let failures = 0; failures < 20; failures++) {
      await (await next()).fail(503);
      await clock.advance(4000);
    }
    await (await next()).fail(410);
    await (await next()).respond(list('90', ['a']));
    expect(collection.view().phase).toBe('live');
  });

  it('does not list in a tight loop when each watch ends with 410', async () => {
    const { next, clock, calls } = start();
    await (await next()).respond(list('7', []));
    await (await next()).fail(410);
    await (await next()).respond(list('8', []));
    await (await next()).fail(410);
    await clock.advance(100);
    expect(calls).toHaveLength(0);
  });

  it('gives up a watch in which nothing comes', async () => {
    const { next, clock, collection } = start();
    await (await next()).respond(list('7', []));
    await (await next()).stream();
    await clock.advance(151_000);
    expect((await next()).query.get('watch')).toBe('1');
    expect(collection.view().error?.message).toContain('nothing for a long time');
  });

  it('gives up a list whose response does not come, and asks again', async () => {
    const { clock, collection, names, next } = start();
    await next();
    await clock.advance(65_000);
    expect(collection.view()).toMatchObject({ phase: 'broken', error: { message: 'deadline of 65000 ms exceeded' } });
    await clock.advance(4_000);
    await (await next()).respond(list('1', ['a']));
    expect(names()).toEqual(['a']);
  });

  it('asks seldom when it may not list', async () => {
    const { next, clock, calls, collection } = start();
    await (await next()).fail(403);
    expect(collection.view().error?.code).toBe(403);
    await clock.advance(29_000);
    expect(calls).toHaveLength(0);
    await clock.advance(1_000);
    expect(calls).toHaveLength(1);
  });

  it('lists once at a revision of the past', async () => {
    const { next, calls, clock, running, collection } = start('5');
    const first = await next();
    expect(first.query.get('resourceVersion')).toBe('5');
    expect(first.query.get('resourceVersionMatch')).toBe('Exact');
    await first.respond(list('5', ['a'], 'more'));
    const second = await next();
    expect(second.query.has('resourceVersion')).toBe(false);
    await second.respond(list('5', ['b']));
    await running;
    await clock.advance(60_000);
    expect(calls).toHaveLength(0);
    expect(collection.view().phase).toBe('live');
  });
});

describe('a watch over a WebSocket', () => {
  class FakeSocket extends EventTarget implements EventSocket {
    isClosed = false;
    readonly path: string;
    constructor(path: string) {
      super();
      this.path = path;
    }
    send(event: unknown): void {
      this.dispatchEvent(new MessageEvent('message', { data: JSON.stringify(event) }));
    }
    end(code: number): void {
      this.dispatchEvent(new CloseEvent('close', { code }));
    }
    close(): void {
      this.isClosed = true;
    }
  }

  async function startWithSocket() {
    const sockets: FakeSocket[] = [];
    const started = start(undefined, (path) => {
      const socket = new FakeSocket(path);
      sockets.push(socket);
      return socket;
    });
    await (await started.next()).respond(list('7', ['a']));
    const socket = async () => {
      await started.clock.advance(0);
      return sockets.shift() ?? expect.fail('no socket was opened');
    };
    return { ...started, socket, sockets };
  }

  it('applies its messages, and opens the next one where it ended', async () => {
    const { socket, names, clock, collection } = await startWithSocket();
    const first = await socket();
    expect(first.path).toContain('resourceVersion=7');
    first.dispatchEvent(new Event('open'));
    await clock.advance(0);
    expect(collection.view().phase).toBe('live');
    first.send({ type: 'ADDED', object: object('b', '8') });
    await clock.advance(100);
    expect(names()).toEqual(['a', 'b']);
    first.end(1000);
    expect((await socket()).path).toContain('resourceVersion=8');
  });

  it('learns from an ordinary request why it is refused', async () => {
    const { socket, next, collection } = await startWithSocket();
    (await socket()).end(1006);
    await (await next()).fail(403);
    expect(collection.view()).toMatchObject({ phase: 'broken', error: { code: 403 } });
  });

  it('waits after a lost connection', async () => {
    const { socket, next, sockets, clock, collection } = await startWithSocket();
    (await socket()).end(1006);
    await (await next()).respond({});
    expect(collection.view().phase).toBe('broken');
    expect(sockets).toHaveLength(0);
    await clock.advance(500);
    await socket();
  });

  it('closes its socket at its own end', async () => {
    const { socket, abort, running } = await startWithSocket();
    const open = await socket();
    abort.abort();
    await running;
    expect(open.isClosed).toBe(true);
  });
});

describe('formats', () => {
  it('reads rows and columns of Tables, and bookmarks without rows', () => {
    const columns: string[] = [];
    const format = tableFormat((found) => columns.push(...found.map(({ name }) => name)));
    const metadata = { name: 'a', namespace: 'n', uid: 'u', creationTimestamp: '2026-01-01T00:00:00Z' };
    const rows = format.rowsOf({
      columnDefinitions: [{ name: 'Name' }, { name: 'Age' }],
      rows: [{ cells: ['a', '1d'], object: { metadata } }],
    });
    expect(columns).toEqual(['Name', 'Age']);
    expect(rows[0]).toMatchObject({ uid: 'u', namespace: 'n', cells: ['a', '1d'], isTerminating: false });
    expect(format.rowsOf({ kind: 'Table', metadata: { resourceVersion: '9' } })).toEqual([]);
    expect(format.rowsOf({ columnDefinitions: null, rows: [{ cells: ['a'], object: { metadata } }] })).toHaveLength(1);
    expect(format.rowsOf({ columnDefinitions: null, rows: null })).toEqual([]);
    expect(columns).toHaveLength(2);
  });

  it('makes texts of cells that are lists or maps, and cuts those that are long', () => {
    const cells = [{ a: { toString: 1 } }, [1, '<b>'], null, undefined, true, 7, 'x'.repeat(1_000_000)];
    const [row] = tableFormat(() => undefined).rowsOf({ rows: [{ cells, object: {} }] });
    expect(row?.cells).toEqual(['{"a":{"toString":1}}', '[1,"<b>"]', null, null, true, 7, `${'x'.repeat(500)}…`]);
  });
});

describe('statusErrorFrom', () => {
  it('reads a Status, and else the first line', () => {
    const status = { kind: 'Status', code: 409, reason: 'Conflict', message: 'changed' };
    expect(statusErrorFrom(500, JSON.stringify(status))).toMatchObject({
      code: 409,
      reason: 'Conflict',
      message: 'changed',
    });
    expect(statusErrorFrom(502, 'bad gateway\nmore')).toMatchObject({ code: 502, message: 'bad gateway' });
    expect(statusErrorFrom(502, '')).toMatchObject({ message: 'the server responded with 502' });
  });
});
