import { sleep, systemClock, systemRandom, systemUid } from '@gantry/base';
import { connectEtcd, type Operation } from '@gantry/etcd';
import { startEtcdCluster } from '@gantry/etcd/testing';
import { expect, it } from 'vitest';
import { createEtcdObjectStore } from '../../storage/etcd-object-store.ts';
import { runMaintenanceRound, runStorageMaintenance } from './storage-maintenance.ts';
import { revisionOf } from '../../storage/resource-version.ts';
import { committed, create, pod, putKey, remove, update } from '../../storage/testing/store-contract.ts';

const signal = (): AbortSignal => AbortSignal.timeout(60_000);
const base = { clock: systemClock, random: systemRandom };

it('cares for a real etcd: history, lanes of the dead, and nothing that is in use', async () => {
  await using cluster = await startEtcdCluster();
  await using etcd = connectEtcd({ ...base, endpoints: cluster.endpoints });
  const store = createEtcdObjectStore({ ...base, etcd, newUid: systemUid, process: 'mine' });
  await putKey(etcd.kv, '/gantry/incarnation', 'one');
  await putKey(etcd.kv, '/gantry/commit/dead/0', 'x');
  const stop = new AbortController();
  const options = { ...base, etcd, process: 'mine' };
  const running = runStorageMaintenance({ ...options, intervalMs: 600_000 }, stop.signal);
  const first = await committed(store.write(create(pod('a')), signal()));
  const second = await committed(store.write(update(pod('a'), first), signal()));
  while ((await etcd.kv.range({ key: '/gantry/commit/mine/alive' }, { signal: signal() })).count === 0) {
    await sleep(systemClock, 10, signal());
  }
  const revision = await runMaintenanceRound(options, undefined, signal());
  const lanes = await etcd.kv.range({ key: '/gantry/commit/', rangeEnd: '/gantry/commit0' }, { signal: signal() });
  expect(lanes.kvs.map(({ key }) => key).filter((key) => !key.endsWith('/alive'))).toEqual([
    expect.stringMatching(/^\/gantry\/commit\/mine\/\d$/),
  ]);
  await committed(store.write(remove(pod('a'), second), signal()));
  await runMaintenanceRound(options, revision, signal());
  const past = etcd.kv.range({ key: pod('a'), revision: revisionOf(first) }, { signal: signal() });
  await expect(past).rejects.toMatchObject({ code: 'compacted' });
  stop.abort();
  await running;
  await store.close(AbortSignal.timeout(1000));
}, 180_000);

it('makes an etcd writable again that ran out of space', async () => {
  await using cluster = await startEtcdCluster({ size: 1, args: ['--quota-backend-bytes', String(16 * 1024 * 1024)] });
  await using etcd = connectEtcd({ ...base, endpoints: cluster.endpoints });
  const store = createEtcdObjectStore({ ...base, etcd, newUid: systemUid, process: 'mine', lanes: 2 });
  const precious = await committed(store.write(create(pod('precious')), signal()));
  const fill = async (): Promise<void> => {
    for (;;) {
      const put: Operation = { kind: 'put', key: '/filler', value: Buffer.alloc(1_000_000) };
      await etcd.kv.transact({ compare: [], success: [put], failure: [] }, { signal: signal() });
    }
  };
  await expect(fill()).rejects.toMatchObject({ code: 'no-space' });
  await expect(store.write(create(pod('more')), signal())).rejects.toMatchObject({ code: 'no-space' });
  await committed(store.write(remove(pod('precious'), precious), signal()));
  await runMaintenanceRound({ ...base, etcd, process: 'mine' }, undefined, signal());
  await committed(store.write(create(pod('more')), signal()));
  await store.close(AbortSignal.timeout(1000));
}, 180_000);
