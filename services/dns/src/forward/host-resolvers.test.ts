import { mkdtemp, open, rm, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '@gantry/base/testing';
import { silentLogger } from '@gantry/service';
import { expect, it, onTestFinished, test } from 'vitest';
import { forwardServers, HostResolvers, nameServers } from './host-resolvers.ts';

async function start() {
  const folder = await mkdtemp(join(tmpdir(), 'resolvers-'));
  const clock = new ManualClock();
  const stop = new AbortController();
  onTestFinished(async () => {
    stop.abort();
    await rm(folder, { recursive: true });
  });
  const file = (name: string) => join(folder, name);
  const resolversOf = (hostFile: string) =>
    new HostResolvers({
      hostFile,
      containerFile: file('container'),
      isOwn: (address) => address === '10.96.0.10',
      clock,
      logger: silentLogger,
    });
  return { clock, file, resolversOf, signal: stop.signal };
}

test("the host's servers are those of its file, again two seconds after a change", async () => {
  const { clock, file, resolversOf, signal } = await start();
  await writeFile(file('host'), 'nameserver 192.0.2.1\n');
  const resolvers = resolversOf(file('host'));
  void resolvers.member().run(signal);
  await expect.poll(() => resolvers.servers()).toEqual(['192.0.2.1']);
  await writeFile(file('host'), 'nameserver 192.0.2.2\nnameserver 192.0.2.3\n');
  // The file is read while no time passes. The clock moves when the loop waits for it.
  await expect
    .poll(async () => {
      await clock.advance(2000);
      return resolvers.servers();
    })
    .toEqual(['192.0.2.2', '192.0.2.3']);
});

test('a file that was replaced by another one ends the process, which then mounts that', async () => {
  const { file, resolversOf, signal } = await start();
  await writeFile(file('host'), 'nameserver 192.0.2.1\n');
  await using handle = await open(file('host'));
  await unlink(file('host'));
  // Like a mount, this path refers to the file that has no name any more.
  const resolvers = resolversOf(`/proc/self/fd/${handle.fd}`);
  await resolvers.member().run(signal);
  expect(resolvers.servers()).toEqual(['192.0.2.1']);
});

test("without the host's file the container's counts", async () => {
  const { file, resolversOf } = await start();
  await writeFile(file('container'), 'nameserver 127.0.0.11\n');
  const resolvers = resolversOf(file('missing'));
  await resolvers.read();
  expect(resolvers.servers()).toEqual(['127.0.0.11']);
});

it.each([
  ['', []],
  ['# nameserver 1.1.1.1\nsearch example.com\nnameserver 9.9.9.9\n', ['9.9.9.9']],
  ['nameserver\t8.8.8.8  \nnameserver fd00::1\n', ['8.8.8.8', 'fd00::1']],
  ['nameserver host.example.com\nnameserver 256.1.1.1\n', []],
  ['nameserver 1.0.0.1\nnameserver 1.0.0.2\nnameserver 1.0.0.3\nnameserver 1.0.0.4', ['1.0.0.1', '1.0.0.2', '1.0.0.3']],
])('reads the servers of %j', (text, servers) => {
  expect(nameServers(text)).toEqual(servers);
});

const isOwn = (address: string) => address.startsWith('10.96.');

it.each([
  ['those of the host', 'nameserver 192.168.1.1', 'nameserver 127.0.0.11', ['192.168.1.1']],
  ['the engine where the host asks itself', 'nameserver 127.0.0.53', 'nameserver 127.0.0.11', ['127.0.0.11']],
  ['the engine where the host has no file', '', 'nameserver 127.0.0.11', ['127.0.0.11']],
  ['never the DNS of the cluster', 'nameserver 10.96.0.10\nnameserver 192.168.1.1', '', ['192.168.1.1']],
  ['none rather than itself', 'nameserver 10.96.0.10', 'nameserver 10.96.0.10', []],
])('forwards to %s', (_, host, container, servers) => {
  expect(forwardServers(host, container, isOwn)).toEqual(servers);
});
