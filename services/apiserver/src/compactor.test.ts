import { ManualClock } from '@gantry/base/testing';
import type { Maintenance } from '@gantry/etcd';
import { MemoryEtcd } from '@gantry/etcd/testing';
import { silentLogger } from '@gantry/service';
import { describe, expect, it } from 'vitest';
import { compactor } from './compactor.ts';

const TURN_MS = 300_000;

describe('compactor', () => {
  it('forgets what is older than a turn, once per turn however many apiservers there are', async () => {
    const memory = new MemoryEtcd();
    const compacted: number[] = [];
    const maintenance: Maintenance = {
      compact: (revision) => Promise.resolve(void compacted.push(revision)),
      status: () =>
        Promise.resolve({
          member: 'm0',
          version: '3.5.30',
          memberId: '1',
          leaderId: '1',
          revision: 1,
          dbSizeBytes: 1,
          dbSizeInUseBytes: 1,
          alarms: [],
        }),
      defragment: () => Promise.resolve(),
      disarm: () => Promise.resolve(),
    };
    const clock = new ManualClock();
    const stopping = new AbortController();
    const etcd = { kv: memory, maintenance, memberCount: 1 };
    const first = compactor({ etcd, clock, logger: silentLogger }).run(stopping.signal);
    await clock.advance(1);
    const second = compactor({ etcd, clock, logger: silentLogger }).run(stopping.signal);
    const { signal } = stopping;
    const before = (await memory.range({ key: 'x' }, { signal })).revision;
    await memory.transact(
      { compare: [], success: [{ kind: 'put', key: 'x', value: Buffer.from('1') }], failure: [] },
      { signal },
    );
    await clock.advance(TURN_MS);
    expect(compacted).toEqual([before]);
    await clock.advance(TURN_MS);
    expect(compacted).toHaveLength(2);
    expect(compacted[1]).toBeGreaterThan(before);
    stopping.abort();
    await Promise.all([first, second]);
  });
});
