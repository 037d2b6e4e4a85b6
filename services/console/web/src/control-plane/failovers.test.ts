import { describe, expect, it } from 'vitest';
import { EMPTY_LOG, gapMs, type LeaderLog, observeLeaders } from './failovers.ts';
import type { Candidate, Term } from './reports.ts';

const time = (second: number) => new Date(second * 1000).toISOString();
const candidate = (identity: string, state: Candidate['state'], term?: Term): Candidate => ({
  address: '',
  component: 's',
  identity,
  startedAt: time(0),
  state,
  ...(term === undefined ? {} : { term }),
});

function see(
  log: LeaderLog,
  second: number,
  holder: string | null,
  epoch: number | null,
  ...candidates: Candidate[]
): LeaderLog {
  return observeLeaders(log, { at: time(second), leaders: [{ component: 's', holder, epoch, candidates }] });
}

describe('observeLeaders', () => {
  const led = see(EMPTY_LOG, 10, 'a', 1, candidate('a', 'leading'));

  it('sees no failover while the leader stays', () => {
    expect(see(led, 11, 'a', 1, candidate('a', 'leading')).failovers).toEqual([]);
  });

  it('follows a failover from the last sign of the old leader to the first write of the new one', () => {
    let log = see(led, 11, 'a', 1);
    log = see(log, 12, null, null, candidate('b', 'standby'));
    log = see(log, 13, null, null, candidate('b', 'standby'));
    expect(log.failovers).toEqual([{ component: 's', former: 'a', lastSeenAt: 10_000, vacantAt: 12_000 }]);
    log = see(log, 14, 'b', 2, candidate('b', 'leading', { epoch: 2, electedAt: time(13.5) }));
    expect(log.failovers[0]).toMatchObject({ next: 'b', epoch: 2, electedAt: 13_500, firstWriteAt: undefined });
    const term = { epoch: 2, electedAt: time(13.5), actingAt: time(14.2), firstWriteAt: time(14.5) };
    log = see(log, 15, 'b', 2, candidate('b', 'leading', term));
    expect(log.failovers).toHaveLength(1);
    expect(log.failovers[0]).toMatchObject({ actingAt: 14_200, firstWriteAt: 14_500 });
    expect(log.failovers.map(gapMs)).toEqual([4500]);
  });

  it('sees a change without a vacancy between two reports', () => {
    const log = see(led, 11, 'b', 2, candidate('b', 'leading', { epoch: 2, electedAt: time(10.5) }));
    expect(log.failovers[0]).toMatchObject({ former: 'a', next: 'b', lastSeenAt: 10_000 });
    expect(log.failovers[0]?.vacantAt).toBeUndefined();
    expect(log.failovers.map(gapMs)).toEqual([undefined]);
  });

  it('sees a second failover after a first one without a write', () => {
    let log = see(led, 11, 'b', 2, candidate('b', 'leading', { epoch: 2 }));
    log = see(log, 12, null, null);
    log = see(log, 13, 'c', 3, candidate('c', 'leading', { epoch: 3 }));
    expect(log.failovers.map(({ former, next }) => `${former} ${next ?? ''}`)).toEqual(['b c', 'a b']);
  });
});
