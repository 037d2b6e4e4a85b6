import { sleep, systemClock, systemRandom, systemUid } from '@gantry/base';
import { connectEtcd, electionKeyOf, type Etcd, type Operation } from '@gantry/etcd';
import { patiently, startEtcdCluster } from '@gantry/etcd/testing';
import { silentLogger } from '@gantry/service';
import { expect, it } from 'vitest';
import { createEtcdObjectStore } from '../../storage/etcd-object-store.ts';
import { memberStatuses, runMaintenanceRound, runRescue, runStorageMaintenance } from './storage-maintenance.ts';
import { findStorageWarnings } from './storage-warnings.ts';
import { revisionOf } from '../../storage/keys.ts';
import { TEST_SEALING } from '../../storage/testing/test-sealing.ts';
import { committed, create, pod, putKey, remove, update } from '../../storage/testing/store-calls.ts';

const signal = (): AbortSignal => AbortSignal.timeout(60_000);
const QUOTA_BYTES = 16 * 1024 * 1024;
const WITH_QUOTA = ['--quota-backend-bytes', String(QUOTA_BYTES)];
const base = { clock: systemClock, random: systemRandom, log: silentLogger };
const maintained = { ...base, process: 'mine', leaseTtlMs: 2000, leaseMaxTtlMs: 8000, quotaBytes: QUOTA_BYTES };

/** Writes values of `bytes` bytes until there is no space left. A member needs some time to remove the history of many small values. */
async function fill(etcd: Etcd, bytes = 500): Promise<void> {
  const success = Array.from(
    { length: Math.min(100, QUOTA_BYTES / 16 / bytes) },
    (_, index): Operation => ({ kind: 'put', key: `/filler/${index}`, value: Buffer.alloc(bytes) }),
  );
  const write = async (): Promise<void> => {
    for (;;) await etcd.kv.transact({ compare: [], success, failure: [] }, patiently());
  };
  await expect(write()).rejects.toMatchObject({ code: 'no-space' });
}

/** Expects small files of these members, which means that history was removed before the defragmentation. */
async function expectSmall(etcd: Etcd, members: readonly number[]): Promise<void> {
  for (const member of members) {
    const { dbSizeBytes } = await etcd.maintenance.status({ ...patiently(), member });
    expect(dbSizeBytes).toBeLessThan(QUOTA_BYTES / 8);
  }
}

it('cares for a real etcd: history, lanes of the dead, and nothing that is in use', async () => {
  await using cluster = await startEtcdCluster();
  await using etcd = connectEtcd({ ...base, endpoints: cluster.endpoints });
  const store = createEtcdObjectStore({ ...base, etcd, newUid: systemUid, sealing: TEST_SEALING, process: 'mine' });
  await putKey(etcd.kv, '/gantry/incarnation', 'one');
  await putKey(etcd.kv, '/gantry/commit/dead/0', 'x');
  const stop = new AbortController();
  const options = { ...maintained, etcd };
  const running = runStorageMaintenance({ ...options, intervalMs: 600_000 }, stop.signal);
  const first = await committed(store.write(create(pod('a')), signal()));
  const second = await committed(store.write(update(pod('a'), first), signal()));
  while ((await etcd.kv.range({ key: '/gantry/commit/mine/alive' }, patiently())).count === 0) {
    await sleep(systemClock, 10, signal());
  }
  const revision = await runMaintenanceRound(options, undefined, signal());
  const lanes = await etcd.kv.range({ key: '/gantry/commit/', rangeEnd: '/gantry/commit0' }, patiently());
  expect(lanes.kvs.map(({ key }) => key).filter((key) => !key.endsWith('/alive'))).toEqual([
    expect.stringMatching(/^\/gantry\/commit\/mine\/\d$/),
  ]);
  await committed(store.write(remove(pod('a'), second), signal()));
  await runMaintenanceRound(options, revision, signal());
  const past = etcd.kv.range({ key: pod('a'), revision: revisionOf(first) }, patiently());
  await expect(past).rejects.toMatchObject({ code: 'compacted' });
  stop.abort();
  await running;
  await store.close(AbortSignal.timeout(1000));
}, 180_000);

it('makes an etcd writable again that ran out of space', async () => {
  await using cluster = await startEtcdCluster({ size: 1, args: WITH_QUOTA });
  await using etcd = connectEtcd({ ...base, endpoints: cluster.endpoints });
  const store = createEtcdObjectStore({
    ...base,
    etcd,
    newUid: systemUid,
    sealing: TEST_SEALING,
    process: 'mine',
    lanes: 2,
  });
  const precious = await committed(store.write(create(pod('precious')), signal()));
  await fill(etcd);
  await expect(store.write(create(pod('more')), signal())).rejects.toMatchObject({ code: 'no-space' });
  const warnings = async () => findStorageWarnings(await memberStatuses({ etcd }, signal()), QUOTA_BYTES);
  expect(await warnings()).toMatchObject([
    { member: 'etcd-0', reason: 'EtcdNearlyFull' },
    { member: 'etcd-0', reason: 'EtcdNoSpace' },
  ]);
  await committed(store.write(remove(pod('precious'), precious), signal()));
  await runMaintenanceRound({ ...maintained, etcd }, undefined, signal());
  expect(await warnings()).toEqual([]);
  await expectSmall(etcd, [0]);
  await committed(store.write(create(pod('more')), signal()));
  await store.close(AbortSignal.timeout(1000));
}, 180_000);

it('forgets history, cleans up and makes a full etcd writable again while a member is down', async () => {
  await using cluster = await startEtcdCluster({ args: WITH_QUOTA });
  await using etcd = connectEtcd({ ...base, endpoints: cluster.endpoints });
  const store = createEtcdObjectStore({
    ...base,
    etcd,
    newUid: systemUid,
    sealing: TEST_SEALING,
    process: 'mine',
    lanes: 2,
  });
  const first = await committed(store.write(create(pod('a')), signal()));
  await committed(store.write(update(pod('a'), first), signal()));
  await putKey(etcd.kv, '/gantry/commit/dead/0', 'x');
  await putKey(etcd.kv, '/gantry/commit/mine/alive', '');
  await fill(etcd);
  // Kill the member that is called first.
  await cluster.members[0]?.kill();
  // The killed member may have been the leader. Wait for a new leader, since the election is not tested here.
  await etcd.kv.range({ key: pod('a') }, patiently());
  const reported: string[] = [];
  const options = { ...maintained, etcd, onError: (reason: string) => reported.push(reason) };
  await runMaintenanceRound(options, undefined, signal());
  expect(reported).toEqual([expect.stringMatching(/^status of member 0: unavailable/)]);
  const lanes = await etcd.kv.range({ key: '/gantry/commit/', rangeEnd: '/gantry/commit0' }, patiently());
  expect(lanes.kvs.map(({ key }) => key)).not.toContain('/gantry/commit/dead/0');
  const past = etcd.kv.range({ key: pod('a'), revision: revisionOf(first) }, patiently());
  await expect(past).rejects.toMatchObject({ code: 'compacted' });
  await expectSmall(etcd, [1, 2]);
  await committed(store.write(create(pod('b')), signal()));
  await store.close(AbortSignal.timeout(1000));
}, 180_000);

it('frees a full etcd that can elect no owner, since it grants no lease', async () => {
  await using cluster = await startEtcdCluster({ size: 1, args: WITH_QUOTA });
  await using etcd = connectEtcd({ ...base, endpoints: cluster.endpoints });
  const store = createEtcdObjectStore({
    ...base,
    etcd,
    newUid: systemUid,
    sealing: TEST_SEALING,
    process: 'mine',
    lanes: 2,
  });
  expect(await runRescue({ ...maintained, etcd }, await memberStatuses({ etcd }, signal()), signal())).toBe(
    'not-needed',
  );
  await fill(etcd);
  await expect(etcd.leases.grant(5000, patiently())).rejects.toMatchObject({ code: 'no-space' });
  const stop = new AbortController();
  const running = runStorageMaintenance({ ...maintained, etcd, fullCheckMs: 200 }, stop.signal);
  const request = { key: '/gantry/elections/etcd-maintenance' };
  while ((await etcd.kv.range(request, patiently())).count === 0) await sleep(systemClock, 20, signal());
  await committed(store.write(create(pod('a')), signal()));
  stop.abort();
  await running;
  await store.close(AbortSignal.timeout(1000));
}, 180_000);

it('frees an etcd that fills up between the rounds of its owner', async () => {
  await using cluster = await startEtcdCluster({ size: 1, args: WITH_QUOTA });
  await using etcd = connectEtcd({ ...base, endpoints: cluster.endpoints });
  // A term needs the incarnation.
  await putKey(etcd.kv, '/gantry/incarnation', 'one');
  const stop = new AbortController();
  const options = { ...maintained, etcd, intervalMs: 600_000, fullCheckMs: 200 };
  const running = runStorageMaintenance(options, stop.signal);
  const owner = { key: electionKeyOf('etcd-maintenance') };
  await expect.poll(async () => (await etcd.kv.range(owner, patiently())).count).toBe(1);
  // Large values fill etcd at once, so that the owner keeps its lease.
  await fill(etcd, 1_000_000);
  const write = (): Promise<boolean> =>
    putKey(etcd.kv, '/more', '').then(
      () => true,
      () => false,
    );
  await expect.poll(write).toBe(true);
  stop.abort();
  await running;
}, 180_000);

it('gives up history before its time when writes fill half of the quota', async () => {
  // A file grows by 16 MiB at once: with a quota of so much it would be full long before.
  const quotaBytes = 64 * 1024 * 1024;
  await using cluster = await startEtcdCluster({ size: 1, args: ['--quota-backend-bytes', String(quotaBytes)] });
  await using etcd = connectEtcd({ ...base, endpoints: cluster.endpoints });
  await putKey(etcd.kv, '/gantry/incarnation', 'one');
  const inUse = async () => (await etcd.maintenance.status({ ...patiently(), member: 0 })).dbSizeInUseBytes;
  // Before there is an owner, which would compact meanwhile.
  const success: readonly Operation[] = [{ kind: 'put', key: '/written', value: Buffer.alloc(1_000_000) }];
  while ((await inUse()) < 0.6 * quotaBytes) await etcd.kv.transact({ compare: [], success, failure: [] }, patiently());
  const stop = new AbortController();
  const running = runStorageMaintenance(
    { ...maintained, etcd, quotaBytes, intervalMs: 600_000, fullCheckMs: 200 },
    stop.signal,
  );
  // Pages that a compaction has freed count as free after the next write.
  const written = async () => {
    await putKey(etcd.kv, '/more', '');
    return await inUse();
  };
  await expect.poll(written).toBeLessThan(0.2 * quotaBytes);
  stop.abort();
  await running;
}, 180_000);

it('deletes through lanes that an etcd without space cannot open', async () => {
  await using cluster = await startEtcdCluster({ size: 1, args: WITH_QUOTA });
  await using etcd = connectEtcd({ ...base, endpoints: cluster.endpoints });
  const before = createEtcdObjectStore({
    ...base,
    etcd,
    newUid: systemUid,
    sealing: TEST_SEALING,
    process: 'before',
    lanes: 2,
  });
  const version = await committed(before.write(create(pod('a')), signal()));
  await before.close(AbortSignal.timeout(1000));
  await fill(etcd);
  const after = createEtcdObjectStore({
    ...base,
    etcd,
    newUid: systemUid,
    sealing: TEST_SEALING,
    process: 'after',
    lanes: 2,
  });
  await expect(after.write(create(pod('b')), signal())).rejects.toMatchObject({ code: 'no-space' });
  await committed(after.write(remove(pod('a'), version), signal()));
  expect(await after.get(pod('a'), signal())).toBeNull();
  await after.close(AbortSignal.timeout(1000));
}, 180_000);
