import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { StatusError } from '@gantry/objects';
import { expect, onTestFinished, test } from 'vitest';
import { CommandError } from '../machine/command-error.ts';
import { oneTimeLink, tokenFor } from './one-time-link.ts';

const { signal } = new AbortController();

test('the token of a kubeconfig is used as it is', async () => {
  const api = { raw: () => Promise.reject(new TypeError('not asked')) };
  expect(await tokenFor({ token: 'own' }, api, signal)).toBe('own');
});

test('the holder of a certificate gets a token of twelve hours, for an account with the right to everything', async () => {
  const asked: string[] = [];
  const api = {
    raw: ({ method, path, body = '' }: { method: string; path: string; body?: Uint8Array | string }) => {
      asked.push(`${method} ${path.replace(/\?.*/, '')} ${JSON.stringify(JSON.parse(String(body)))}`);
      return Promise.resolve(JSON.stringify({ status: { token: 'short' } }));
    },
  };
  expect(await tokenFor({}, api, signal)).toBe('short');
  expect(asked).toEqual([
    expect.stringMatching(
      /^PATCH \/api\/v1\/namespaces\/kube-system\/serviceaccounts\/console-administrator .*"automountServiceAccountToken":false/,
    ),
    expect.stringMatching(/^PATCH .*clusterrolebindings\/gantry:console-administrator .*"name":"cluster-admin"/),
    expect.stringMatching(/^POST .*serviceaccounts\/console-administrator\/token .*"expirationSeconds":43200/),
  ]);
});

test('who may not make that token is told what to do instead', async () => {
  const api = { raw: () => Promise.reject(new StatusError('Forbidden', 'jane cannot patch')) };
  const error = await tokenFor({}, api, signal).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(CommandError);
  expect(error).toMatchObject({
    message: expect.stringContaining('jane cannot patch'),
    fix: expect.stringContaining('kubectl create token'),
  });
});

test('a link has the code behind #, which browsers send to nobody; a refusal is said, and a console that is not there', async () => {
  const server = createServer((req, res) => {
    let body = '';
    req.setEncoding('utf8').on('data', (part: string) => (body += part));
    req.on('end', () => {
      const good = body === '{"token":"good"}' && req.url === '/session/links';
      res.writeHead(good ? 201 : 401).end(JSON.stringify(good ? { code: 'c0de' } : { message: 'Unauthorized' }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  expect(await oneTimeLink(origin, 'good', signal)).toBe(`${origin}/#code=c0de`);
  await expect(oneTimeLink(origin, 'bad', signal)).rejects.toThrow('the console refused the token: Unauthorized');
  await expect(oneTimeLink('http://127.0.0.1:1', 'good', signal)).rejects.toThrow('does not answer: ');
});
