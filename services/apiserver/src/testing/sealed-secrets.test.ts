import { createLogger } from '@gantry/service';
import { MemoryEtcd } from '@gantry/etcd/testing';
import { expect, it } from 'vitest';
import { createMemoryObjectStore } from '../storage/testing/memory-store.ts';
import { callServer } from './call-server.ts';
import { startApiServer } from './start-api-server.ts';

const MARKER = 'a-marker-that-must-stay-sealed';

it('leaves nothing of a Secret readable in the store, its history or the log, whatever is done with it', async () => {
  const lines: string[] = [];
  const logger = createLogger({ service: 'apiserver', level: 'trace' }, { write: (line) => void lines.push(line) });
  const etcd = new MemoryEtcd();
  await using server = await startApiServer({ logger, store: createMemoryObjectStore({ etcd }) });
  const secrets = '/api/v1/namespaces/default/secrets';
  const secret = (name: string, data: object = { key: MARKER }) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, annotations: { note: MARKER } },
    stringData: data,
  });
  const headers = { 'content-type': 'application/json' };
  const call = (method: string, path: string, body?: object) =>
    callServer(server, method, path, body === undefined ? {} : { headers, body: JSON.stringify(body) });
  expect((await call('POST', secrets, secret('a'))).code).toBe(201);
  expect((await call('POST', secrets, secret('a'))).code).toBe(409);
  expect((await call('PUT', `${secrets}/a`, secret('a', { key: MARKER, more: MARKER }))).code).toBe(200);
  // Validation rejects the invalid key in `data`.
  expect((await call('POST', secrets, secret('b', { 'not a key': MARKER }))).code).toBe(422);
  const read = await call('GET', `${secrets}/a`);
  expect(JSON.stringify(read.json)).toContain(Buffer.from(MARKER).toString('base64'));
  expect((await call('DELETE', `${secrets}/a`)).code).toBe(200);
  const texts = [MARKER, Buffer.from(MARKER).toString('base64')];
  const signal = AbortSignal.timeout(30_000);
  let seen = 0;
  for (let revision = 2; revision <= etcd.revision; revision++) {
    const { kvs } = await etcd.range({ key: '/', rangeEnd: '0', revision }, { signal });
    for (const { key, value } of kvs) {
      if (key.startsWith('/registry/secrets/default/a')) seen += 1;
      for (const text of texts) expect(Buffer.from(value).includes(text)).toBe(false);
    }
  }
  expect(seen).toBeGreaterThan(0);
  expect(lines.length).toBeGreaterThan(0);
  for (const line of lines) for (const text of texts) expect(line).not.toContain(text);
});
