import { ManualClock } from '@gantry/base/testing';
import { FakeObjectClient } from '@gantry/client/testing';
import { CONFIG_MAPS, type ConfigMap, type KubeObject } from '@gantry/objects';
import { expect, it } from 'vitest';
import { unseenDependents } from './unseen-dependents.shell.ts';

const { signal } = new AbortController();

it('are those that the store has, of resources whose view is older than the deletion', async () => {
  const client = new FakeObjectClient(new ManualClock());
  const put = (name: string, uids: readonly string[], namespace = 'n') => {
    const ownerReferences = uids.map((uid) => ({ apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid }));
    const object: ConfigMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace, ownerReferences } };
    return client.put(CONFIG_MAPS, object);
  };
  const seen = await put('seen', ['u']);
  for (const name of ['unseen', 'other']) await put(name, [name === 'unseen' ? 'u' : 'v']);
  await put('foreign', ['u'], 'elsewhere');
  const owner: KubeObject = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'n', uid: 'u', resourceVersion: '1000000' },
  };
  const find = async (reached: number) => {
    const cache = { dependentsOf: () => [seen], reached: () => reached };
    return (await unseenDependents(owner, { cache, client }, signal)).map(({ kind, metadata }) => [
      kind,
      metadata.name,
    ]);
  };
  expect(await find(999_999)).toEqual([['ConfigMap', 'unseen']]);
  expect(await find(1_000_000), 'the view has all of them').toEqual([]);
});
