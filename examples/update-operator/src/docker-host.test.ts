import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { dockerHost } from './docker-host.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'docker-host-'));
});
afterEach(() => rm(folder, { recursive: true }));

const OWN = { Id: 'own', Labels: { 'io.kubernetes.pod.uid': 'u', 'gantry.cluster': 'g' } };
const agent = (number: string, project = 'g') => ({
  Id: `agent${number}${project}`,
  Labels: {
    'com.docker.compose.project': project,
    'com.docker.compose.service': 'agent',
    'com.docker.compose.container-number': number,
    'com.docker.compose.oneoff': 'False',
  },
});

/** Runs with an engine that has these containers. Resolves with what it was asked to restart. */
async function withEngine(
  containers: readonly { readonly Id: string; readonly Labels: Readonly<Record<string, string>> }[],
  use: (host: ReturnType<typeof dockerHost>) => Promise<void>,
): Promise<readonly string[]> {
  const restarted: string[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://engine');
    const [, , id = '', verb] = url.pathname.split('/');
    if (url.pathname === '/containers/json') {
      const { label } = JSON.parse(url.searchParams.get('filters') ?? '{}') as { readonly label: readonly string[] };
      const wanted = label.map((one) => one.split('='));
      const found = containers.filter(({ Labels }) => wanted.every(([name = '', value]) => Labels[name] === value));
      response.end(JSON.stringify(found));
    } else if (verb === 'json') response.end(JSON.stringify({ State: { StartedAt: `start ${restarted.length}` } }));
    else if (verb === 'restart' && request.method === 'POST') {
      restarted.push(id);
      response.writeHead(204).end();
    } else response.writeHead(404).end('{"message":"no such thing"}');
  }).listen(join(folder, 'socket'));
  await once(server, 'listening');
  try {
    await use(dockerHost({ socket: join(folder, 'socket'), node: 'my-host-2', podUid: 'u' }));
  } finally {
    server.close();
    server.closeAllConnections();
  }
  return restarted;
}

const { signal } = new AbortController();

it('restarts the agent of its node in the cluster of its pod, which is another boot', async () => {
  const all = [OWN, agent('1'), agent('2'), agent('2', 'other')];
  const restarted = await withEngine(all, async (host) => {
    const before = await host.boot(signal);
    expect(await host.boot(signal)).toBe(before);
    await host.reboot(signal);
    expect(await host.boot(signal)).not.toBe(before);
  });
  expect(restarted).toEqual(['agent2g']);
});

it.each([
  [
    'its own container is not of a cluster',
    [{ ...OWN, Labels: { 'io.kubernetes.pod.uid': 'u' } }, agent('2')],
    'no container of pod u',
  ],
  ['there is no agent', [OWN, agent('1')], '0 containers are the agent of my-host-2 in cluster g'],
  ['the agent is being replaced', [OWN, agent('2'), agent('2')], '2 containers'],
])('restarts nothing if %s', async (_, containers, message) => {
  const restarted = await withEngine(containers, async (host) => {
    await expect(host.reboot(signal)).rejects.toThrow(message);
  });
  expect(restarted).toEqual([]);
});

it('rejects if there is no engine', async () => {
  const host = dockerHost({ socket: join(folder, 'none'), node: 'n-1', podUid: 'u' });
  await expect(host.boot(signal)).rejects.toThrow('ENOENT');
});
