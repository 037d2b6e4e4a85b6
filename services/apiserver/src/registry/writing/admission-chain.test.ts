import { expect, it } from 'vitest';
import { WatchCache } from '../../cache/index.ts';
import { createRegistry } from '../create-registry.ts';
import { jsonBody, startHarness, WRITE } from '../testing.ts';

it('a write waits until the limits of its namespace are known', async () => {
  const h = await startHarness();
  const limits = [{ type: 'PersistentVolumeClaim', max: { storage: '1Gi' } }];
  await h.create('limitranges', {
    apiVersion: 'v1',
    kind: 'LimitRange',
    metadata: { name: 'small' },
    spec: { limits },
  });
  const { store, clock, random } = h.deps;
  const cache = new WatchCache({
    ...{ store, clock, random },
    definitions: h.deps.resourceRegistry.definitions,
    encodeProtobuf: () => new Uint8Array(),
    onError: () => undefined,
  });
  const started = createRegistry({ ...h.deps, cache });
  const claim = {
    ...{ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: 'large' } },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '2Gi' } } },
  };
  const created = started.create(h.context(), h.target('persistentvolumeclaims', ''), jsonBody(claim), WRITE);
  const outcome = h.failure(created);
  // A write that does not wait is stored meanwhile.
  await h.clock.advance(1000);
  const stopping = new AbortController();
  const running = cache.run(stopping.signal);
  expect(await outcome).toMatchObject({ reason: 'Forbidden' });
  stopping.abort();
  await h.clock.advance(1000);
  await running;
});
