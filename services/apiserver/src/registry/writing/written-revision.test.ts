import { expect, it } from 'vitest';
import { jsonBody, startHarness, WRITE } from '../testing.ts';

it('a limit counts for the next request, also while the cache is behind', async () => {
  const h = await startHarness();
  h.store.etcd.silenceWatches();
  const limits = [{ type: 'PersistentVolumeClaim', max: { storage: '1Gi' } }];
  await h.create('limitranges', { apiVersion: 'v1', kind: 'LimitRange', metadata: { name: 'l' }, spec: { limits } });
  const body = jsonBody({
    ...{ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: 'c' } },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '2Gi' } } },
  });
  h.clock.setTimer(100, () => h.store.etcd.resumeWatches());
  const claimed = h.registry.create(h.context(), h.target('persistentvolumeclaims', ''), body, WRITE);
  expect((await h.failure(claimed)).message).toContain('maximum storage usage per PersistentVolumeClaim is 1Gi');
});
