import type { KubeObject } from '@gantry/objects';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callServer } from './call-server.ts';
import { createFastClock } from './fast-clock.ts';
import { startApiServer, type TestApiServer } from './start-api-server.ts';

const NAMESPACE = '/api/v1/namespaces/default';
const PATH = `${NAMESPACE}/configmaps`;

let server: TestApiServer;
let version: string;

interface Event {
  readonly type: string;
  readonly object: KubeObject & { readonly code?: number; readonly rows?: readonly { readonly object: KubeObject }[] };
}

/** Opens a watch, and returns its events until its end, without the bookmarks that come every half a minute to who allows them. */
async function watch(path: string, accept = 'application/json', timeoutSeconds = 20): Promise<readonly Event[]> {
  const reply = await callServer(server, 'GET', `${path}&timeoutSeconds=${timeoutSeconds}`, { headers: { accept } });
  expect(reply.code, reply.bytes.toString()).toBe(200);
  return reply.bytes
    .toString()
    .split('\n')
    .filter((line) => line !== '' && !(path.includes('allowWatchBookmarks') && isLaterBookmark(line)))
    .map((line) => JSON.parse(line) as Event);
}

const isLaterBookmark = (line: string) =>
  line.startsWith('{"type":"BOOKMARK"') && !line.includes('"k8s.io/initial-events-end":"true"');

/** Formats events: `+a` for an added object, `|` for the bookmark after the initial objects. */
function told(events: readonly Event[]): string {
  return events
    .map(({ type, object }) => {
      if (type === 'BOOKMARK') return object.metadata.annotations?.['k8s.io/initial-events-end'] === 'true' ? '|' : '.';
      return `${type === 'ADDED' ? '+' : type === 'MODIFIED' ? '~' : '-'}${object.metadata.name}`;
    })
    .filter((text) => text !== '+kube-root-ca.crt')
    .join('');
}

beforeAll(async () => {
  // By the machine's clock, a busy machine would end a watch of a second before it has begun.
  server = await startApiServer({ clock: createFastClock() });
  // Create them in another order than that of their names.
  for (const name of ['c', 'a', 'b']) {
    const labels = { letter: name };
    const body = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, labels } });
    expect((await callServer(server, 'POST', PATH, { body })).code).toBe(201);
    if (name === 'c') {
      const { metadata } = (await callServer(server, 'GET', PATH)).json as unknown as {
        metadata: { resourceVersion: string };
      };
      version = metadata.resourceVersion;
    }
  }
});

afterAll(() => server.stop());

describe('a watch', () => {
  const LIST = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan';
  const NO_LIST = 'sendInitialEvents=false&resourceVersionMatch=NotOlderThan';

  it('whose time is over before it is open ends without events', async () => {
    // The cache has not reached this version, so opening the watch takes longer than its timeout.
    const ahead = Number(version) + 256 * 1000;
    expect(await watch(`${PATH}?watch=1&${LIST}&resourceVersion=${ahead}`, 'application/json', 1)).toEqual([]);
  });

  it.concurrent.each([
    ['?watch=1', '+a+b+c'],
    ['?watch=1&resourceVersion=0', '+a+b+c'],
    ['?watch=1&allowWatchBookmarks=1', '+a+b+c|'],
    ['?watch=1&resourceVersion=0&allowWatchBookmarks=1', '+a+b+c|'],
    ['?watch=1&resourceVersion=FROM', '+a+b'],
    ['?watch=1&resourceVersion=FROM&allowWatchBookmarks=1', '+a+b'],
    [`?watch=1&${LIST}`, '+a+b+c'],
    [`?watch=1&${LIST}&allowWatchBookmarks=1`, '+a+b+c|'],
    [`?watch=1&${LIST}&allowWatchBookmarks=1&resourceVersion=0`, '+a+b+c|'],
    [`?watch=1&${LIST}&allowWatchBookmarks=1&resourceVersion=FROM`, '+a+b+c|'],
    [`?watch=1&${LIST}&allowWatchBookmarks=1&labelSelector=letter%3Db`, '+b|'],
    [`?watch=1&${LIST}&allowWatchBookmarks=1&labelSelector=none`, '|'],
    [`?watch=1&${NO_LIST}&allowWatchBookmarks=1`, ''],
    [`?watch=1&${NO_LIST}&resourceVersion=0`, ''],
    [`?watch=1&${NO_LIST}&resourceVersion=FROM`, '+a+b'],
    ['?watch=1&fieldSelector=metadata.name%3Db', '+b'],
    ['?watch=1&limit=1', '+a+b+c'],
    ['?watch=1&continue=x&resourceVersion=FROM', '+a+b'],
  ])('%s begins with %s and ends in time', async (query, events) => {
    expect(told(await watch(`${PATH}${query.replace('FROM', version)}`))).toBe(events);
  });

  it('has a path of its own, of all objects or of one', async () => {
    const under = '/api/v1/watch/namespaces/default/configmaps';
    expect(told(await watch(`${under}?`))).toBe('+a+b+c');
    expect(told(await watch(`${under}/b?`))).toBe('+b');
    expect(told(await watch(`${under}/b?fieldSelector=metadata.name%3Db`))).toBe('+b');
    const other = await callServer(server, 'GET', `${under}/b?fieldSelector=metadata.name%3Dc`);
    expect(other.json).toMatchObject({
      code: 400,
      message: "fieldSelector metadata.name doesn't match requested name",
    });
    const held = await callServer(server, 'GET', `${under}?sendInitialEvents=true`);
    expect(held.json).toMatchObject({ code: 422, details: { causes: [{ field: 'sendInitialEvents' }] } });
  });

  it.concurrent.each([
    ['resourceVersion=1', 410, /^too old resource version: 1 \(\d+\)$/],
    [`${LIST}&resourceVersion=999999999`, 504, /^Timeout: Too large resource version: 999999999, current: \d+$/],
  ])('of %s is answered with an ERROR event of code %i', async (query, code, message) => {
    const reply = await callServer(server, 'GET', `${PATH}?watch=1&${query}`);
    expect(reply.code).toBe(200);
    const event = JSON.parse(reply.bytes.toString()) as Event;
    expect(event).toMatchObject({ type: 'ERROR', object: { kind: 'Status', code } });
    expect((event.object as { message?: string }).message).toMatch(message);
  });

  it('shows metadata alone, or rows, to who asks for them', async () => {
    const query = `${PATH}?watch=1&${LIST}&allowWatchBookmarks=1&fieldSelector=metadata.name%3Db`;
    const partial = await watch(query, 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1');
    expect(told(partial)).toBe('+b|');
    for (const { object } of partial) {
      expect(object).toMatchObject({ kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1' });
      expect(object).not.toHaveProperty('data');
    }
    const rows = await watch(query, 'application/json;as=Table;g=meta.k8s.io;v=v1');
    expect(rows.map(({ type, object }) => [type, object.kind, object.rows?.[0]?.object.kind])).toEqual([
      ['ADDED', 'Table', 'PartialObjectMetadata'],
      ['BOOKMARK', 'Table', 'PartialObjectMetadata'],
    ]);
    expect(rows[0]?.object).toHaveProperty('columnDefinitions.0');
    expect(rows[1]?.object).toHaveProperty('columnDefinitions', null);
  });
});
