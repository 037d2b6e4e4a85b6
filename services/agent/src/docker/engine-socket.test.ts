import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Docker from 'dockerode';
import { expect, it, onTestFinished } from 'vitest';
import type { EngineSocket } from './engine-socket.ts';
import { hijack } from './hijack.ts';

const SWITCHED = 'HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n';

/** Opens a connection to an engine that answers with `first`. Returns both ends. */
async function open(first: string): Promise<{ readonly socket: EngineSocket; readonly engine: Socket }> {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-engine-'));
  const server = createServer({ allowHalfOpen: true });
  server.listen(join(folder, 'sock'));
  onTestFinished(() => {
    server.close();
    rmSync(folder, { recursive: true });
  });
  const docker = new Docker({ socketPath: join(folder, 'sock') });
  const opened = hijack(docker, { path: '/exec/id/start', abort: new AbortController().signal });
  const [engine] = (await once(server, 'connection')) as [Socket];
  onTestFinished(() => void engine.destroy());
  engine.once('data', () => engine.write(first));
  return { socket: await opened, engine };
}

it('gives what comes with the head of the answer and after it, to the end', async () => {
  const { socket, engine } = await open(`${SWITCHED}with`);
  engine.end(' and after');
  let text = '';
  for await (const chunk of socket) text += Buffer.from(chunk).toString();
  expect(text).toBe('with and after');
});

it('reads no further than its reader', async () => {
  const { socket, engine } = await open(SWITCHED);
  const sent = 8 * 1024 * 1024;
  engine.end(Buffer.alloc(sent, 7));
  const chunks = socket[Symbol.asyncIterator]();
  let size = (await chunks.next()).value?.length ?? 0;
  for (let turn = 0; turn < 300; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(engine.writableLength).toBeGreaterThan(0);
  for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) {
    expect(next.value.every((byte) => byte === 7)).toBe(true);
    size += next.value.length;
  }
  expect(size).toBe(sent);
});

it('fails when the connection is broken off, and breaks it off when it is left', async () => {
  const { socket } = await open(SWITCHED);
  socket.on('error', () => undefined);
  const chunks = socket[Symbol.asyncIterator]();
  const next = chunks.next();
  socket.destroy(new Error('the call was aborted'));
  await expect(next).rejects.toThrow('the call was aborted');
  const left = await open(`${SWITCHED}one`);
  for await (const _ of left.socket) break;
  expect(left.socket.destroyed).toBe(true);
});
