import { ManualClock } from '@gantry/base/testing';
import { expect, test } from 'vitest';
import { createAuthority } from '../pki/certificates.ts';
import { CommandError } from '../machine/command-error.ts';
import { gatherFacts, whyNotReady } from './gather.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');

test('reports the certificates of existing services and of the kubeconfig', async () => {
  const { certificate } = await createAuthority('gantry-ca', NOW);
  const services = ['apiserver', 'etcd-0'];
  const containers = services.map((service) => ({
    name: `a-${service}-1`,
    service,
    state: 'exited',
    health: '',
    image: 'x',
  }));
  const facts = await gatherFacts({
    clusterId: 'a',
    clock: new ManualClock(NOW),
    shell: { run: () => Promise.resolve({ code: 0, stdout: certificate, stderr: '' }) },
    project: { containers: () => Promise.resolve(containers) },
    openApi: () => {
      throw new CommandError('there is no kubeconfig', 'npm run up');
    },
    adminCertificate: () => certificate,
  });
  expect(facts.certificates.map(({ of }) => of)).toEqual([
    'etcd-0',
    'apiserver',
    'apiserver (towards etcd)',
    'apiserver (towards agents)',
    'apiserver (front proxy)',
    "agents' servers (the authority)",
    'etcd (the authority)',
    'front proxy (the authority)',
    'kubeconfig (the administrator)',
  ]);
  expect(facts.certificates.every(({ notAfter }) => notAfter > NOW)).toBe(true);
  expect(facts.api).toEqual({ state: 'not ready', why: 'there is no kubeconfig' });
});

test('an API server that does not answer now is unhealthy, whatever the engine says', async () => {
  const container = { name: 'a-apiserver-1', service: 'apiserver', state: 'running', health: 'healthy', image: 'x' };
  const run = (_program: string, [command]: readonly string[]) =>
    Promise.resolve({ code: command === 'exec' ? 1 : 0, stdout: '["CMD","healthcheck"]', stderr: '' });
  const facts = await gatherFacts({
    clusterId: 'a',
    clock: new ManualClock(NOW),
    shell: { run },
    project: { containers: () => Promise.resolve([container]) },
    openApi: () => {
      throw new CommandError('there is no kubeconfig', 'npm run up');
    },
    adminCertificate: () => undefined,
  });
  expect(facts.containers).toEqual([{ ...container, health: 'unhealthy' }]);
});

test.each([
  [
    '[+]ping ok\n[-]watch-cache failed: the tree has not been read yet\n[-]bootstrap failed: not finished\nreadyz check failed',
    'watch-cache: the tree has not been read yet; bootstrap: not finished',
  ],
  ['no API server can be reached: connect ECONNREFUSED 127.0.0.1:6443', 'connect ECONNREFUSED 127.0.0.1:6443'],
  ['the store cannot be reached: unavailable: unavailable: No connection', 'the store cannot be reached'],
  [`<html>${'x'.repeat(1000)}`, `<html>${'x'.repeat(94)}…`],
])('of an API that is not ready, one short line says why', (message, why) => {
  expect(whyNotReady(message)).toBe(why);
});
