import { lead, seededRandom, untilAborted } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import { createObjectClient, type ObjectClient } from '@gantry/client';
import { FakeObjectClient } from '@gantry/client/testing';
import { silentLogger } from '@gantry/service';
import { LEASES } from '@gantry/objects';
import { describe, expect, it, onTestFinished } from 'vitest';
import { LeaseElection } from './lease-election.ts';

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

function candidate(identity: string, client: ObjectClient, clock: ManualClock) {
  const stop = new AbortController();
  const terms: ('begun' | 'ended')[] = [];
  const election = new LeaseElection({ client, lease: 'gantry-host-a', identity, clock, logger: silentLogger });
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
  return { terms, resign };
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

  it('ends a term exactly four seconds after the last renewal when the API does not respond', async () => {
    const clock = new ManualClock();
    const { client, silence } = silenceable(new FakeObjectClient(clock));
    const { terms } = candidate('a', client, clock);
    await clock.advance(100);
    silence();
    await clock.advance(3_800);
    expect(terms).toEqual(['begun']);
    await clock.advance(200);
    expect(terms).toEqual(['begun', 'ended']);
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
    await clock.advance(10_000);
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
