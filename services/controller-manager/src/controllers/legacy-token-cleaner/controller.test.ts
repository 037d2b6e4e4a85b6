import { formatDay } from '@gantry/base';
import { CONFIG_MAPS, SECRETS, SERVICE_ACCOUNTS, type Secret } from '@gantry/objects';
import { expect, it } from 'vitest';
import { createControllerHarness } from '../../testing/controller-harness.ts';
import { legacyTokenCleaner } from './controller.ts';

const KEY = { namespace: 'a', name: 'tok' };
const LAST_USED = 'kubernetes.io/legacy-token-last-used';
const INVALID_SINCE = 'kubernetes.io/legacy-token-invalid-since';

/** A token that is 400 days old and that its account lists, and another Secret. The use of tokens has been tracked for longer than that. */
async function createWorld(labels: Record<string, string> = {}) {
  const harness = createControllerHarness();
  const { client, clock } = harness;
  const tracking = { name: 'kube-apiserver-legacy-service-account-token-tracking', namespace: 'kube-system' };
  const data = { since: '2020-01-01' };
  await client.put(CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata: tracking, data });
  const account = { name: 'bot', namespace: 'a' };
  const secrets = [{ name: 'tok' }, { name: 'plain' }];
  await client.put(SERVICE_ACCOUNTS, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: account, secrets });
  const annotations = { 'kubernetes.io/service-account.name': 'bot' };
  const put = (name: string, type: string) => {
    const metadata = { name, namespace: 'a', annotations, labels };
    return client.put<Secret>(SECRETS, { apiVersion: 'v1', kind: 'Secret', type, metadata });
  };
  await put('tok', 'kubernetes.io/service-account-token');
  await put('plain', 'Opaque');
  await clock.advance(400 * 86_400_000);
  return { ...harness, today: formatDay(clock.now()) };
}

const labelsOf = (secrets: readonly Secret[]) =>
  Object.fromEntries(secrets.map(({ metadata }) => [metadata.name, metadata.labels]));

it('marks a token that has not been used for a year, and deletes it after another one', async () => {
  const { client, clock, run, stop, today } = await createWorld();
  run([legacyTokenCleaner]);
  await clock.advance(1000);
  expect(labelsOf(client.all(SECRETS))).toEqual({ tok: { [INVALID_SINCE]: today }, plain: {} });
  const labels = { [INVALID_SINCE]: '2020-01-01' };
  await client.patch(SECRETS, KEY, { merge: { metadata: { labels } } }, stop.signal);
  await clock.advance(1000);
  expect(labelsOf(client.all(SECRETS))).toEqual({ plain: {} });
});

it('does not touch a token that was used just before', async () => {
  for (const verb of ['patch', 'delete'] as const) {
    const before: Record<string, string> = verb === 'delete' ? { [INVALID_SINCE]: '2020-01-01' } : {};
    const { client, clock, run, stop, today } = await createWorld(before);
    const used = { [LAST_USED]: today };
    let acted = 0;
    run([legacyTokenCleaner], {
      reach: async (_signal, call) => {
        if (call.verb !== verb || call.resource !== 'secrets' || acted++ > 0) return;
        await client.patch(SECRETS, KEY, { merge: { metadata: { labels: used } } }, stop.signal);
      },
    });
    await clock.advance(60_000);
    expect([verb, acted, labelsOf(client.all(SECRETS))['tok']]).toEqual([verb, 1, { ...before, ...used }]);
  }
});
