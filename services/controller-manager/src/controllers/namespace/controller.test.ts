import type { ConfigMap, Namespace } from '@gantry/api';
import { ManualClock } from '@gantry/base/testing';
import type { ObjectWrite } from '@gantry/client';
import { FakeObjectClient } from '@gantry/client/testing';
import { expect, it } from 'vitest';
import { runOvertaken } from '../../testing/run-overtaken.ts';
import { CONFIG_MAPS, NAMESPACES } from '../resources.ts';
import { namespaceController } from './controller.ts';

const KEY = { namespace: 'a', name: 'x' };

it('takes a namesake of what it has deleted for no failure', async () => {
  const clock = new ManualClock();
  const client = new FakeObjectClient(clock);
  const stop = new AbortController();
  const configMap: ConfigMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: KEY };
  await client.put<Namespace>(NAMESPACES, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'a', finalizers: ['example.org/hold'] },
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  });
  await client.write({ verb: 'delete', resource: NAMESPACES, key: { namespace: '', name: 'a' } }, stop.signal);
  await client.put(CONFIG_MAPS, configMap);
  let acted: 'no' | 'yes' = 'no';
  const meanwhile = async ({ verb }: ObjectWrite) => {
    if (verb !== 'delete' || acted === 'yes') return;
    acted = 'yes';
    await client.write({ verb: 'delete', resource: CONFIG_MAPS, key: KEY }, stop.signal);
    // Stands for what another apiserver was still making when the deletion began.
    await client.put<ConfigMap>(CONFIG_MAPS, { ...configMap, metadata: { ...KEY, finalizers: ['example.org/hold'] } });
  };
  runOvertaken({ controllers: [namespaceController], client, clock, meanwhile }, stop.signal);
  await clock.advance(100);
  expect(client.all<ConfigMap>(CONFIG_MAPS)[0]?.metadata.deletionTimestamp).toBeDefined();
  const failure = client
    .all<Namespace>(NAMESPACES)[0]
    ?.status?.conditions?.find(({ type }) => type === 'NamespaceDeletionContentFailure');
  expect(failure).toMatchObject({ status: 'False' });
  const told = client.writes.filter(({ verb, resource }) => verb === 'update' && resource.resource === 'namespaces');
  expect(told).toHaveLength(1);
  stop.abort();
});
