import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '@gantry/service';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { HostFile } from './host-file.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gantry-hosts-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const OWNERS = new Map([
  ['*', 'a'],
  ['*.example', 'b'],
]);

it('a process finds the hosts that an earlier one has stored', async () => {
  const file = new HostFile(join(folder, 'new'), silentLogger);
  expect([...(await file.read())]).toEqual([]);
  await file.write(OWNERS);
  expect(await readdir(join(folder, 'new'))).toEqual(['hosts.json']);
  expect(await new HostFile(join(folder, 'new'), silentLogger).read()).toEqual(OWNERS);
});

it('what has not changed is not written again', async () => {
  const file = new HostFile(folder, silentLogger);
  await file.write(OWNERS);
  await rm(join(folder, 'hosts.json'));
  await file.write(new Map(OWNERS));
  expect(await readdir(folder)).toEqual([]);
  await file.write(new Map([['*', 'b']]));
  expect(await new HostFile(folder, silentLogger).read()).toEqual(new Map([['*', 'b']]));
});

it.each(['', '{}', '[["a"]]', '[["a", 1]]', 'null'])('a file of %j counts as none', async (text) => {
  await writeFile(join(folder, 'hosts.json'), text);
  const file = new HostFile(folder, silentLogger);
  expect([...(await file.read())]).toEqual([]);
  await file.write(OWNERS);
  expect(await new HostFile(folder, silentLogger).read()).toEqual(OWNERS);
});

it('serving goes on where the hosts cannot be stored, and the next change stores them', async () => {
  await writeFile(join(folder, 'state'), '');
  const file = new HostFile(join(folder, 'state'), silentLogger);
  await file.write(OWNERS);
  await rm(join(folder, 'state'));
  await file.write(OWNERS);
  expect(await new HostFile(join(folder, 'state'), silentLogger).read()).toEqual(OWNERS);
});
