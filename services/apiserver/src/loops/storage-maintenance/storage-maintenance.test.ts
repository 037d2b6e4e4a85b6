import { seededRandom } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import { electionKeyOf, type Etcd, type MemberStatus, type Operation } from '@gantry/etcd';
import { MemoryEtcd } from '@gantry/etcd/testing';
import { silentLogger } from '@gantry/service';
import { expect, it, onTestFinished } from 'vitest';
import type { MaintenanceAction } from './maintenance-plan.ts';
import { runStorageMaintenance, STORAGE_OWNER } from './storage-maintenance.ts';

const { signal } = new AbortController();
const MINUTE_MS = 60_000;

/** An API server that maintains an etcd in memory. */
async function start() {
  const memory = new MemoryEtcd();
  const write = (operation: Operation) =>
    memory.transact({ compare: [], success: [operation], failure: [] }, { signal });
  await write({ kind: 'put', key: '/gantry/incarnation', value: Buffer.from('one') });
  const status = async (): Promise<MemberStatus> => ({
    ...{ member: 'etcd-0', version: '3.6.0', memberId: '1', leaderId: '1' },
    ...{ revision: memory.revision, raftTerm: 1, raftIndex: 1, raftAppliedIndex: 1 },
    ...{ dbSizeBytes: 1, dbSizeInUseBytes: 1, alarms: [] },
  });
  const { kv, watcher, leases, memberCount } = memory;
  const maintenance = { status, compact: () => Promise.resolve() };
  const etcd = { memberCount, kv, watcher, leases, maintenance } as unknown as Etcd;
  const clock = new ManualClock();
  const lives: number[] = [];
  const actions: MaintenanceAction['kind'][] = [];
  const stop = new AbortController();
  const options = {
    ...{ etcd, clock, random: seededRandom(1), log: silentLogger, process: 'mine', quotaBytes: 2 ** 31 },
    ...{ leaseTtlMs: 2000, leaseMaxTtlMs: 8000, onLease: (ttlMs: number) => lives.push(ttlMs) },
    onAction: ({ kind }: MaintenanceAction) => actions.push(kind),
  };
  const running = runStorageMaintenance(options, stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await running;
  });
  return { clock, lives, actions, loseOffice: () => write({ kind: 'delete', key: electionKeyOf(STORAGE_OWNER) }) };
}

it('owns etcd by a lease that lives as long as those of other leaders', async () => {
  const { clock, lives, loseOffice } = await start();
  await clock.advance(1000);
  expect(lives).toEqual([2000]);
  await loseOffice();
  await clock.advance(1000);
  expect(lives).toEqual([2000, 0, 2000]);
});

it('compacts every five minutes, also when it lost the office between and has it again', async () => {
  const { clock, actions, loseOffice } = await start();
  await clock.advance(4 * MINUTE_MS);
  await loseOffice();
  await clock.advance(2 * MINUTE_MS);
  expect(actions).toEqual(['compact']);
});
