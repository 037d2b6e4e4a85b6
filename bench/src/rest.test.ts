import { chmodSync, writeFileSync } from 'node:fs';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { commandOf, countCommands, nameOfWrite } from './rest.ts';

afterEach(() => void vi.unstubAllEnvs());

it.each([
  ['leases', 'kube-node-lease', 'host-1', 'leases kube-node-lease'],
  ['leases', 'kube-system', 'kube-scheduler', 'leases kube-system/kube-scheduler'],
  ['leases', 'kube-system', 'gantry-host-0123456789abcdef', 'leases kube-system/gantry-host-*'],
  ['nodes', undefined, 'host-12', 'nodes host-*'],
  ['events', 'default', 'web-1.17ab', 'events default'],
])('a write of %s %s/%s is one of %s %s', (resource, namespace, name, line) => {
  const metadata = { name, ...(namespace === undefined ? {} : { namespace }) };
  expect(nameOfWrite({ resource }, { metadata })).toBe(line);
});

it('of the events of the engine, the starts of commands are counted', () => {
  expect(commandOf('agent exec_start: healthcheck ')).toBe('agent: healthcheck');
  expect(commandOf('agent exec_create: healthcheck ')).toBeUndefined();
  expect(commandOf(' start')).toBeUndefined();
});

/** A `docker` that runs this script when it is asked for events as they happen. With an end, the engine answers with its last ones alone. */
async function stubDocker(script: string) {
  const folder = await mkdtempDisposable(join(tmpdir(), 'gantry-docker-'));
  const file = join(folder.path, 'docker');
  writeFileSync(file, `#!/bin/sh\ncase "$*" in events*--until*) exit 1;; events*) ;; *) exit 1;; esac\n${script}\n`);
  chmodSync(file, 0o755);
  vi.stubEnv('PATH', [folder.path, process.env['PATH']].join(delimiter));
  return folder;
}

it('more commands are counted than the engine keeps events', async () => {
  const events = 'agent exec_create: healthcheck \\nagent exec_start: healthcheck \\nagent exec_die\\n';
  await using _ = await stubDocker(`for _ in $(seq 300); do printf '${events}'; done; exec sleep 60`);
  await using commands = countCommands('gantry', 0);
  await vi.waitFor(() => expect(commands.counts.get('agent: healthcheck')).toBe(300), 10_000);
  await commands.stop();
  expect([...commands.counts]).toEqual([['agent: healthcheck', 300]]);
});

it('events that end before the measurement are an error', async () => {
  await using _ = await stubDocker('exit 0');
  await using commands = countCommands('gantry', 0);
  await expect(commands.ended).rejects.toThrow('`docker events` ended before the measurement');
  await expect(commands.stop()).rejects.toThrow('`docker events` ended before the measurement');
});
