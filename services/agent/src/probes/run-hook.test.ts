import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ManualClock } from '@gantry/base/testing';
import type { HTTPGetAction } from '@gantry/objects';
import { expect, it, onTestFinished } from 'vitest';
import { container } from '../testing/pods.ts';
import { performProbe } from './perform-probe.ts';
import { runHook } from './run-hook.ts';

const { signal } = new AbortController();
const containers = {
  exec: () => Promise.resolve({ exitCode: 3, output: 'no cheese' }),
};

async function server(answer: (url: string) => readonly [number, string?]) {
  const seen: IncomingMessage[] = [];
  const http = createServer((request, response) => {
    seen.push(request);
    const [status, location] = answer(request.url ?? '');
    response.writeHead(status, location === undefined ? {} : { location });
    response.end('gone away');
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => new Promise<void>((resolve) => http.close(() => resolve())));
  const { port } = http.address() as AddressInfo;
  const target = {
    container: container(),
    containerId: 'id',
    containers,
    pod: 'web_default(uid-1)',
    address: '127.0.0.1',
    network: 'pod',
  } as const;
  const hook = (change: Partial<HTTPGetAction> = {}) =>
    runHook({ httpGet: { port, path: '/hook', ...change } }, target, new ManualClock(), signal);
  return { seen, port, target, hook };
}

it('a request of a hook succeeds with any status, and says what it is', async () => {
  const { seen, hook } = await server(() => [500]);
  await hook({ httpHeaders: [{ name: 'accept', value: 'text/html' }] });
  expect(seen.map(({ url, headers }) => [url, headers['user-agent'], headers.accept])).toEqual([
    ['/hook', 'kube-lifecycle/1.36', 'text/html'],
  ]);
});

it('a server that answers HTTPS with HTTP is asked again over HTTP, without credentials', async () => {
  const { seen, hook } = await server(() => [200]);
  await hook({ scheme: 'HTTPS', httpHeaders: [{ name: 'Authorization', value: 'Bearer x' }] });
  expect(seen.map(({ headers }) => headers.authorization)).toEqual([undefined]);
});

it('a hook fails when nothing answers, and when its host is the agent', async () => {
  const { hook, target, port } = await server(() => [200]);
  await expect(hook({ port: 1 })).rejects.toThrow(
    'HTTP lifecycle hook (/hook) for Container "main" in Pod "web_default(uid-1)" failed',
  );
  const elsewhere = { ...target, address: '10.0.0.9' };
  const action = { httpGet: { host: '127.0.0.1', port } };
  await expect(runHook(action, elsewhere, new ManualClock(), signal)).rejects.toThrow('may not reach 127.0.0.1');
});

it('a command that fails says how, and a handler without an action is refused', async () => {
  const { target } = await server(() => [200]);
  const run = (handler: object) => runHook(handler, target, new ManualClock(), signal);
  await expect(run({ exec: { command: ['eat'] } })).rejects.toThrow(
    'Exec lifecycle hook ([eat]) for Container "main" in Pod "web_default(uid-1)" failed - error: command \'eat\' exited with 3: no cheese',
  );
  await expect(run({ tcpSocket: { port: 80 } })).rejects.toThrow('Cannot run handler: invalid handler');
});

const REDIRECTS = [
  { to: '/ok', outcome: { kind: 'success' }, requests: 2 },
  { to: '/broken', outcome: { kind: 'failure', message: 'HTTP probe failed with statuscode: 503' }, requests: 2 },
  {
    to: 'http://example.com/ok',
    outcome: { kind: 'success', warning: 'Probe terminated redirects, Response body: gone away' },
    requests: 1,
  },
  {
    to: '/first',
    outcome: { kind: 'failure', message: expect.stringContaining('stopped after 10 redirects') },
    requests: 10,
  },
];

it.each(REDIRECTS)('a probe follows redirects to its own host only: $to', async ({ to, outcome, requests }) => {
  const { seen, port, target } = await server((url) => (url === '/first' ? [302, to] : url === '/ok' ? [200] : [503]));
  const probe = { httpGet: { port, path: '/first' } };
  expect(await performProbe(probe, target, containers, signal)).toEqual(outcome);
  expect(seen.length).toBe(requests);
});
