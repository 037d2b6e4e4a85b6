import { untilAborted } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import type { MemberStatus } from '@gantry/etcd';
import { type Event, StatusError } from '@gantry/objects';
import { createMetrics, silentLogger } from '@gantry/service';
import { describe, expect, it } from 'vitest';
import type { LoopbackClient } from '../../loopback-client.ts';
import { storageMeter } from '../../meters.ts';
import { findStorageWarnings, StorageReporter } from './storage-warnings.ts';

const MIB = 1024 * 1024;
const QUOTA = 100 * MIB;
const NOSPACE = 'memberID:2 alarm:NOSPACE ';

const member = (memberId: string, sizeMib: number, alarms: readonly string[] = []): MemberStatus => ({
  member: `https://etcd-${memberId}:2379`,
  version: '3.5.30',
  memberId,
  leaderId: '1',
  revision: 500,
  raftTerm: 2,
  raftIndex: 900,
  raftAppliedIndex: 900,
  dbSizeBytes: sizeMib * MIB,
  dbSizeInUseBytes: (sizeMib / 2) * MIB,
  alarms,
});

describe('warnings about etcd', () => {
  it('are none while there is room', () => {
    expect(findStorageWarnings([member('1', 79), undefined, member('3', 20)], QUOTA)).toEqual([]);
  });

  it('begin at 80 % of the quota of a member', () => {
    expect(findStorageWarnings([member('1', 79), member('2', 80)], QUOTA)).toEqual([
      {
        member: 'etcd-1',
        reason: 'EtcdNearlyFull',
        message: 'uses 80 % of its quota of 104857600 bytes; when it is full, only deletes are accepted',
      },
    ]);
  });

  it('name the member of an alarm once, although each member reports it', () => {
    const alarms = [NOSPACE, 'memberID:9 alarm:CORRUPT '];
    expect(findStorageWarnings([member('1', 20, alarms), member('2', 20, alarms)], QUOTA)).toMatchObject([
      { member: 'etcd-1', reason: 'EtcdNoSpace' },
      { member: 'etcd', reason: 'EtcdCorrupt' },
    ]);
  });
});

describe('Events about etcd', () => {
  const AT = Date.parse('2026-01-01T00:00:00Z');
  const signal = new AbortController().signal;

  const start = () => {
    const stored = new Map<string, Event>();
    const state = { etcd: 'free' as 'free' | 'full' | 'hung' };
    const client: Pick<LoopbackClient, 'get' | 'create'> = {
      get: async (_, { name = '' }) => stored.get(name),
      create: async (_, object, abort) => {
        if (state.etcd === 'hung') await untilAborted(abort);
        abort.throwIfAborted();
        if (state.etcd === 'full') throw StatusError.internal('etcd has no space');
        stored.set(object.metadata.name ?? '', object as Event);
        return object;
      },
    };
    const clock = new ManualClock(AT);
    const reporter = new StorageReporter({ client, quotaBytes: QUOTA, clock, logger: silentLogger });
    return { stored, state, clock, reporter };
  };

  it('are recorded once while they are stored', async () => {
    const { stored, clock, reporter } = start();
    await reporter.report([member('1', 90)], signal);
    await clock.advance(30_000);
    await reporter.report([member('1', 91)], signal);
    expect([...stored.keys()]).toEqual(['etcd-0.etcdnearlyfull']);
    expect(stored.get('etcd-0.etcdnearlyfull')).toMatchObject({
      metadata: { namespace: 'default' },
      involvedObject: { kind: 'ComponentStatus', name: 'etcd-0' },
      type: 'Warning',
      reason: 'EtcdNearlyFull',
      message: expect.stringContaining('etcd-0 uses 90 %'),
    });
  });

  it('of a full etcd are recorded when there is room again, with the time of the alarm', async () => {
    const { stored, state, clock, reporter } = start();
    state.etcd = 'full';
    await reporter.report([member('1', 20), member('2', 20, [NOSPACE])], signal);
    expect(stored.size).toBe(0);
    state.etcd = 'free';
    await clock.advance(30_000);
    await reporter.report([member('1', 20), member('2', 20)], signal);
    expect([...stored.values()]).toMatchObject([
      { reason: 'EtcdNoSpace', involvedObject: { name: 'etcd-1' }, firstTimestamp: '2026-01-01T00:00:00Z' },
    ]);
  });

  it('are given up for the moment when etcd takes longer than 5 s', async () => {
    const { stored, state, clock, reporter } = start();
    state.etcd = 'hung';
    const reported = reporter.report([member('1', 90)], signal);
    await clock.advance(5000);
    await reported;
    expect(stored.size).toBe(0);
    state.etcd = 'free';
    await reporter.report([member('1', 20)], signal);
    expect([...stored.values()]).toMatchObject([{ reason: 'EtcdNearlyFull' }]);
  });
});

it('metrics show the size of members that respond, the quota and alarms', async () => {
  const metrics = createMetrics('part');
  const observe = storageMeter(metrics, QUOTA);
  observe([member('1', 50), member('2', 60)]);
  observe([member('1', 50, [NOSPACE]), undefined]);
  const lines = (await metrics.render()).text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  expect(lines).toEqual([
    'apiserver_storage_size_bytes{storage_cluster_id="etcd-0"} 52428800',
    'gantry_storage_in_use_bytes{storage_cluster_id="etcd-0"} 26214400',
    'gantry_storage_quota_bytes 104857600',
    'gantry_storage_alarms{alarm="NOSPACE"} 1',
    'gantry_storage_alarms{alarm="CORRUPT"} 0',
  ]);
});
