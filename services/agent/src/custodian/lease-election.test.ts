import { lead, seededRandom, untilAborted } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import { createObjectClient, type ObjectClient } from '@gantry/client';
import { FakeObjectClient } from '@gantry/client/testing';
import { silentLogger } from '@gantry/service';
import { LEASES } from '@gantry/objects';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Renewals } from '../fencing/renewals.ts';
import { LeaseElection, type LeaseElectionOptions } from './lease-election.ts';

/** An API that can stop responding. Calls then hang until they are aborted. */
function silenceable(client: ObjectClient): { client: ObjectClient; silence: () => void } {
  let state: 'answering' | 'silent' = 'answering';
  const answered = <T>(call: () => Promise<T>, signal: AbortSignal): Promise<T> =>
    state === 'answering'
      ? call()
      : new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
  return {
    client: createObjectClient({
      get: (resource, key, signal) => answered(() => client.get(resource, key, signal), signal),
      list: client.list.bind(client),
      watch: client.watch.bind(client),
      write: (write, signal) => answered(() => client.write(write, signal), signal),
      batch: client.batch.bind(client),
    }),
    silence: () => {
      state = 'silent';
    },
  };
}

/** A candidate whose Node renews its Lease each second, until `mute` or `pause`; `isSilent` is what it observes of the other ones. */
function candidate(
  identity: string,
  client: ObjectClient,
  clock: ManualClock,
  isSilent: LeaseElectionOptions['isSilent'] = async () => false,
) {
  const stop = new AbortController();
  const terms: ('begun' | 'ended')[] = [];
  const renewals = new Renewals(clock);
  let beats: 'yes' | 'no' = 'yes';
  const beat = () => {
    if (beats === 'yes') renewals.renewed(clock.monotonicMs());
    clock.setTimer(1000, beat);
  };
  renewals.renewed(clock.monotonicMs());
  // Not in step with the election.
  clock.setTimer(300, beat);
  const election = new LeaseElection({
    client,
    lease: 'gantry-host-a',
    identity,
    renewals,
    isSilent,
    clock,
    logger: silentLogger,
  });
  const act = async (_term: unknown, signal: AbortSignal) => {
    terms.push('begun');
    await untilAborted(signal);
    terms.push('ended');
  };
  const running = lead({ election, act, clock, random: seededRandom(1), log: silentLogger }, stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await running;
  });
  const resign = async () => {
    stop.abort();
    await running;
  };
  const setBeats = (to: 'yes' | 'no') => {
    beats = to;
  };
  return { terms, resign, setBeats };
}

describe('the election of a host custodian', () => {
  it('has one leader while it renews its Lease', async () => {
    const clock = new ManualClock();
    const server = new FakeObjectClient(clock);
    const first = candidate('a', server, clock);
    await clock.advance(100);
    const second = candidate('b', server, clock);
    await clock.advance(20_000);
    expect(first.terms).toEqual(['begun']);
    expect(second.terms).toEqual([]);
  });

  it('ends a term exactly fifteen seconds after the last renewal when the API does not respond', async () => {
    const clock = new ManualClock();
    const { client, silence } = silenceable(new FakeObjectClient(clock));
    const { terms } = candidate('a', client, clock);
    await clock.advance(100);
    silence();
    await clock.advance(14_800);
    expect(terms).toEqual(['begun']);
    await clock.advance(200);
    expect(terms).toEqual(['begun', 'ended']);
  });

  it('ends a term exactly three seconds after the last renewal of the Node, and begins another when it is renewed', async () => {
    const clock = new ManualClock();
    const { terms, setBeats } = candidate('a', new FakeObjectClient(clock), clock);
    await clock.advance(400);
    setBeats('no');
    await clock.advance(2_800);
    expect(terms).toEqual(['begun']);
    await clock.advance(100);
    expect(terms).toEqual(['begun', 'ended']);
    await clock.advance(20_000);
    setBeats('yes');
    await clock.advance(2_100);
    expect(terms).toEqual(['begun', 'ended', 'begun']);
  });

  it('ends a term when the Node has lost and regained its Lease in between', async () => {
    const clock = new ManualClock();
    const server = new FakeObjectClient(clock);
    const renewals = new Renewals(clock);
    const options = { client: server, lease: 'gantry-host-a', identity: 'a', renewals, isSilent: async () => false };
    const election = new LeaseElection({ ...options, clock, logger: silentLogger });
    const events: string[] = [];
    const stop = new AbortController();
    const watching = (async () => {
      for await (const { kind } of election.campaign(stop.signal)) events.push(kind);
    })();
    onTestFinished(async () => {
      stop.abort();
      await watching;
    });
    renewals.renewed(clock.monotonicMs());
    await clock.advance(1_500);
    expect(events).toEqual(['elected']);
    // A frozen process: its timers fire after the renewal that it makes when it goes on.
    vi.spyOn(clock, 'monotonicMs').mockReturnValue(clock.monotonicMs() + 5_000);
    renewals.renewed(clock.monotonicMs());
    vi.restoreAllMocks();
    await clock.advance(1_000);
    expect(events).toContain('lost');
  });

  it('renews its Lease seldom', async () => {
    const clock = new ManualClock();
    const server = new FakeObjectClient(clock);
    const { terms } = candidate('a', server, clock);
    await clock.advance(60_100);
    expect(terms).toEqual(['begun']);
    expect(server.writes).toHaveLength(7);
  });

  it.each(['yes', 'no'] as const)('takes the Lease from a holder whose Node is silent: %s', async (silent) => {
    const clock = new ManualClock();
    const server = new FakeObjectClient(clock);
    const first = candidate('a', server, clock);
    await clock.advance(100);
    const asked: string[] = [];
    const second = candidate('b', server, clock, async (holder) => {
      asked.push(holder);
      return silent === 'yes' && first.terms.includes('ended');
    });
    await clock.advance(1_000);
    first.setBeats('no');
    await clock.advance(5_000);
    expect(new Set(asked)).toEqual(new Set(['a']));
    expect([first.terms, second.terms]).toEqual([['begun', 'ended'], silent === 'yes' ? ['begun'] : []]);
  });

  it('does not take the Lease from a holder that renews it after it was found silent', async () => {
    const clock = new ManualClock();
    const server = new FakeObjectClient(clock);
    const key = { namespace: 'kube-system', name: 'gantry-host-a' };
    const first = candidate('a', server, clock);
    await clock.advance(100);
    const second = candidate('b', server, clock, async (_holder, signal) => {
      // The holder comes back between the read of its Node's Lease and the write.
      const held = await server.get(LEASES, key, signal);
      const renewTime = new Date(clock.now() + 1).toISOString();
      await server.update(LEASES, { ...held, spec: { ...held.spec, renewTime } }, signal);
      return true;
    });
    await clock.advance(3_000);
    expect(server.all(LEASES)[0]?.spec?.holderIdentity).toBe('a');
    expect([first.terms, second.terms]).toEqual([['begun'], []]);
  });

  it('gives the Lease to another candidate when its holder stops renewing it', async () => {
    const clock = new ManualClock();
    const server = new FakeObjectClient(clock);
    const { client, silence } = silenceable(server);
    const first = candidate('a', client, clock);
    await clock.advance(100);
    const second = candidate('b', server, clock);
    await clock.advance(1_000);
    silence();
    await clock.advance(17_000);
    expect(first.terms).toEqual(['begun', 'ended']);
    expect(second.terms).toEqual(['begun']);
  });

  it('passes the Lease on when its holder resigns, after its work has ended', async () => {
    const clock = new ManualClock();
    const server = new FakeObjectClient(clock);
    const first = candidate('a', server, clock);
    await clock.advance(100);
    const second = candidate('b', server, clock);
    await clock.advance(1_000);
    const holders: (string | undefined)[] = [];
    const seen = () => holders.push(server.all(LEASES)[0]?.spec?.holderIdentity);
    await first.resign();
    seen();
    await clock.advance(2_000);
    seen();
    expect(holders).toEqual(['', 'b']);
    expect(first.terms).toEqual(['begun', 'ended']);
    expect(second.terms).toEqual(['begun']);
  });

  it('leaves a Lease that is renewed by another holder, however long that has held it', async () => {
    const clock = new ManualClock();
    const server = new FakeObjectClient(clock);
    const first = candidate('a', server, clock);
    await clock.advance(60_000);
    const second = candidate('b', server, clock);
    await clock.advance(60_000);
    expect([first.terms, second.terms]).toEqual([['begun'], []]);
  });
});
