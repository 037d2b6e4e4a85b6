import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { untilAnswering } from './proxy-state.ts';

const signal = new AbortController().signal;
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gantry-ask-'));
});
afterEach(() => rm(folder, { recursive: true }));

it('a socket that is not there yet is waited for', async () => {
  const asked = Promise.withResolvers<string>();
  const server = createServer((connection) => {
    connection.on('data', (part: Buffer) => asked.resolve(part.toString('utf8')));
    connection.end('3.0\n');
  });
  const answering = untilAnswering(join(folder, 'socket'), systemClock, signal);
  server.listen(join(folder, 'socket'));
  await answering;
  expect(await asked.promise).toBe('show version\n');
  server.close();
});

it('another failure ends the wait at once', async () => {
  await writeFile(join(folder, 'file'), '');
  await expect(untilAnswering(join(folder, 'file/socket'), new ManualClock(), signal)).rejects.toThrow('ENOTDIR');
});
