import { ManualClock } from '@gantry/base/testing';
import { FakeObjectClient } from '@gantry/client/testing';
import { CONFIG_MAPS, type ConfigMap } from '@gantry/objects';
import { expect, it } from 'vitest';
import { withFinalizer } from './finalizer.ts';

const { signal } = new AbortController();
const KEY = { namespace: 'a', name: 'one' };

function createSubject() {
  const client = new FakeObjectClient(new ManualClock());
  const done: string[] = [];
  const reconcile = async (object: ConfigMap, cleanUp = async () => void done.push('clean up')) => {
    const apply = async () => {
      done.push('apply');
      return {};
    };
    await withFinalizer({ client, resource: CONFIG_MAPS, object, finalizer: 'example.com/f', apply, cleanUp }, signal);
  };
  const read = () => client.get(CONFIG_MAPS, KEY, signal);
  return { client, done, reconcile, read };
}

it('adds the finalizer before it applies, and removes it after the clean-up', async () => {
  const { client, done, reconcile, read } = createSubject();
  await client.put(CONFIG_MAPS, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { ...KEY, finalizers: ['x.io/other'] },
  });
  await reconcile(await read());
  expect([done, (await read()).metadata.finalizers]).toEqual([[], ['x.io/other', 'example.com/f']]);
  await reconcile(await read());
  await client.delete(CONFIG_MAPS, KEY, {}, signal);
  await reconcile(await read());
  expect([done, (await read()).metadata.finalizers]).toEqual([['apply', 'clean up'], ['x.io/other']]);
  await reconcile(await read());
  expect(done).toEqual(['apply', 'clean up']);
});

it('keeps the finalizer when the clean-up fails', async () => {
  const { client, reconcile, read } = createSubject();
  await client.put(CONFIG_MAPS, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { ...KEY, finalizers: ['example.com/f'] },
  });
  await client.delete(CONFIG_MAPS, KEY, {}, signal);
  const failing = reconcile(await read(), () => Promise.reject(new TypeError('bucket is busy')));
  await expect(failing).rejects.toThrow('bucket is busy');
  expect((await read()).metadata.finalizers).toEqual(['example.com/f']);
});

it('does not overwrite a list of finalizers that somebody else has changed', async () => {
  const { client, reconcile, read } = createSubject();
  await client.put(CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...KEY } });
  const stale = await read();
  await client.patch(CONFIG_MAPS, KEY, { merge: { metadata: { finalizers: ['x.io/new'] } } }, signal);
  await expect(reconcile(stale)).rejects.toMatchObject({ reason: 'Conflict' });
  expect((await read()).metadata.finalizers).toEqual(['x.io/new']);
});
