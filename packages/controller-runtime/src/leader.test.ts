import { type ElectionEvent, type Term, untilAborted } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import { createObjectClient } from '@gantry/client';
import { FakeObjectClient } from '@gantry/client/testing';
import { CONFIG_MAPS, LEASES, PODS, StatusError } from '@gantry/objects';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { Informers } from './informers.ts';
import { createFenceHolder, Leader } from './leader.ts';
import { keepLeaderRecord } from './leader-record.ts';
import { reportedProcess } from './process-report.ts';
import { silentLog } from './testing/silent-log.ts';

class BrokenError extends Error {}

const TERM = { electionKey: '/gantry/elections/kube-test', epoch: 0, incarnation: 'i' };

it('a leader whose work has failed shows itself as the leader no more, and has ended when its last write has', async () => {
  const clock = new ManualClock();
  const server = new FakeObjectClient(clock);
  /** Writes of the Lease wait for this after ten seconds. */
  const held = Promise.withResolvers<void>();
  const client = createObjectClient({
    get: server.get.bind(server),
    list: server.list.bind(server),
    watch: server.watch.bind(server),
    write: async (write, signal) => {
      if (write.resource.resource === LEASES.resource && clock.monotonicMs() - startMs >= 10_000) await held.promise;
      return await server.write(write, signal);
    },
    batch: server.batch.bind(server),
  });
  const startMs = clock.monotonicMs();
  const base = { client, clock, random: () => 0.5, log: silentLog };
  const failed = Promise.withResolvers<void>();
  const leader = new Leader({
    ...base,
    component: 'kube-test',
    identity: 'me',
    fences: createFenceHolder(),
    informers: new Informers({ ...base, resources: [] }),
    work: () => failed.promise,
  });
  let end = 'none';
  const leading = leader.lead(TERM, new AbortController().signal).catch((error: unknown) => {
    end = error instanceof BrokenError ? 'failed' : 'other';
  });
  await clock.advance(10_000);
  failed.reject(new BrokenError());
  await clock.advance(0);
  expect(end).toBe('none');
  held.resolve();
  await leading;
  expect(end).toBe('failed');
  const lease = server.all(LEASES)[0];
  await clock.advance(60_000);
  expect(server.all(LEASES)[0]).toEqual(lease);
});

it("shows how long the leader's lease lives, and its changes", async () => {
  const clock = new ManualClock();
  const client = new FakeObjectClient(clock);
  let ttlMs = 2000;
  const base = { client, clock, random: () => 0.5, log: silentLog };
  const stop = new AbortController();
  const options = { ...base, component: 'kube-test', identity: 'me', leaseTtlMs: () => ttlMs };
  const kept = keepLeaderRecord(options, stop.signal);
  await clock.advance(0);
  const shown = () => client.all(LEASES)[0]?.metadata.annotations;
  expect(shown()).toEqual({ 'gantry.dev/lease-ttl-ms': '2000' });
  ttlMs = 8000;
  await clock.advance(10_000);
  expect(shown()).toEqual({ 'gantry.dev/lease-ttl-ms': '8000' });
  stop.abort();
  await kept;
});

it('a process says when its term began, when it acted and wrote first, and when the term ended', async () => {
  const clock = new ManualClock(Date.parse('2026-01-01T00:00:00Z'));
  const client = new FakeObjectClient(clock);
  const base = { client, clock, random: () => 0.5, log: silentLog };
  const fences = createFenceHolder();
  const informers = new Informers({ ...base, resources: [] });
  let begin = (): void => undefined;
  const reaching = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const leader = new Leader({
    ...base,
    component: 'kube-test',
    identity: 'me',
    fences,
    informers: Object.assign(Object.create(informers) as Informers, { reach: () => reaching }),
    work: untilAborted,
  });
  const report = reportedProcess({ component: 'kube-test', identity: 'me', leader, leaseTtlMs: () => 2000, clock });
  expect(report()).toMatchObject({ state: 'standby', startedAt: '2026-01-01T00:00:00.000000Z' });
  expect(report()).not.toHaveProperty('term');
  const stop = new AbortController();
  const leading = leader.lead({ ...TERM, epoch: 7 }, stop.signal);
  await clock.advance(1000);
  expect(report()).toMatchObject({ state: 'leading', term: { epoch: 7, electedAt: '2026-01-01T00:00:00.000000Z' } });
  expect(report().term).not.toHaveProperty('actingAt');
  begin();
  await clock.advance(1000);
  expect(report().term).toMatchObject({ actingAt: '2026-01-01T00:00:01.000000Z' });
  expect(report().term).not.toHaveProperty('firstWriteAt');
  fences.fence();
  await clock.advance(1000);
  fences.fence();
  expect(report().term).toMatchObject({ firstWriteAt: '2026-01-01T00:00:02.000000Z' });
  stop.abort();
  await leading;
  expect(report()).toMatchObject({ state: 'standby', term: { epoch: 7, endedAt: '2026-01-01T00:00:03.000000Z' } });
  expect(fences.fence()).toBeUndefined();
});

describe('a leader', () => {
  let clock: ManualClock;
  let server: FakeObjectClient;
  /** Whether the API server answers. */
  let way: 'open' | 'cut';
  let epoch: number;
  let history: string[];
  beforeEach(() => {
    clock = new ManualClock();
    server = new FakeObjectClient(clock);
    way = 'open';
    epoch = 0;
    history = [];
  });

  const cut = () => {
    way = 'cut';
    server.breakWatches(StatusError.unavailable('no API server can be reached'));
  };
  const reached = async <T>(call: () => Promise<T>): Promise<T> => {
    if (way === 'cut') throw StatusError.unavailable('no API server can be reached');
    return await call();
  };

  /** Runs a leader whose election it always wins. */
  function start(): void {
    const client = createObjectClient({
      get: (...call) => reached(() => server.get(...call)),
      list: (...call) => reached(() => server.list(...call)),
      watch: async function* (...call) {
        yield* await reached(async () => server.watch(...call));
      },
      write: (...call) => reached(() => server.write(...call)),
      batch: (...call) => reached(() => server.batch(...call)),
    });
    const base = { client, clock, random: () => 0.5, log: silentLog };
    const informers = new Informers({ ...base, resources: [PODS, CONFIG_MAPS] });
    const leader = new Leader({
      ...base,
      component: 'kube-test',
      identity: 'me',
      fences: createFenceHolder(),
      informers,
      work: async (stop) => {
        note('works');
        await untilAborted(stop);
      },
    });
    const campaign = async function* (signal: AbortSignal): AsyncGenerator<ElectionEvent> {
      const term: Term = { ...TERM, epoch };
      note('campaigns');
      yield { kind: 'elected', term };
      await untilAborted(signal);
      note('resigned');
    };
    const stop = new AbortController();
    const running = [informers.run(stop.signal), leader.member({ campaign }).run(stop.signal)];
    onTestFinished(async () => {
      stop.abort();
      await Promise.all(running);
    });
  }
  const startMs = new ManualClock().monotonicMs();
  const note = (what: string) => void history.push(`${Math.round((clock.monotonicMs() - startMs) / 1000)} ${what}`);

  it('resigns when no API server has answered for ten seconds, and campaigns when one answers again', async () => {
    start();
    await clock.advance(20_000);
    cut();
    await clock.advance(60_000);
    expect(history).toEqual(['0 campaigns', '0 works', '30 resigned']);
    way = 'open';
    await clock.advance(6000);
    expect(history.slice(3).map((line) => line.replace(/^8[0-6] /, ''))).toEqual(['campaigns', 'works']);
  });

  it('keeps its office when the way comes back in time, also without a change of any object', async () => {
    start();
    await clock.advance(20_000);
    cut();
    await clock.advance(4000);
    way = 'open';
    await clock.advance(60_000);
    expect(history).toEqual(['0 campaigns', '0 works']);
  });

  it('keeps its office when only one of its resources cannot be followed', async () => {
    start();
    await clock.advance(1000);
    server.failNext(({ resource }) => resource.resource === 'pods', StatusError.internal('broken'), 1000);
    server.breakWatches(StatusError.unavailable('lost'));
    await clock.advance(60_000);
    expect(history).toEqual(['0 campaigns', '0 works']);
  });

  it('resigns when its caches do not reach its epoch', async () => {
    epoch = 1_000_000;
    start();
    await clock.advance(11_000);
    expect(history.slice(0, 2)).toEqual(['0 campaigns', '10 resigned']);
  });
});
