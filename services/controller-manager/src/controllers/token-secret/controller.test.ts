import { SECRETS, SERVICE_ACCOUNTS, type Secret, StatusError } from '@gantry/objects';
import { expect, it } from 'vitest';
import { createControllerHarness } from '../../testing/controller-harness.ts';
import { createTokenSecretController } from './controller.ts';

it('takes a deleted token secret off the list of its account, also after a write that failed', async () => {
  const { client, clock, run, stop } = createControllerHarness();
  const put = (name: string, type: string) => {
    const annotations = { 'kubernetes.io/service-account.name': 'bot' };
    const metadata = { name, namespace: 'a', annotations };
    const data = { token: 'eA==' };
    return client.put<Secret>(SECRETS, { apiVersion: 'v1', kind: 'Secret', metadata, type, data });
  };
  await put('token', 'kubernetes.io/service-account-token');
  await put('plain', 'Opaque');
  await client.put(SERVICE_ACCOUNTS, {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'bot', namespace: 'a' },
    secrets: [{ name: 'token' }, { name: 'plain' }, { name: 'later' }],
  });
  run([createTokenSecretController(() => 'pem')]);
  await clock.advance(1000);
  client.failNext(
    ({ verb, resource }) => verb === 'update' && resource === SERVICE_ACCOUNTS,
    StatusError.unavailable('away'),
  );
  for (const name of ['token', 'plain']) await client.delete(SECRETS, { namespace: 'a', name }, {}, stop.signal);
  await clock.advance(5000);
  expect(client.all(SERVICE_ACCOUNTS)[0]?.secrets).toEqual([{ name: 'plain' }, { name: 'later' }]);
});
