import { type ElectionEvent, must } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import type { ObjectClient } from '@gantry/client';
import { FakeObjectClient } from '@gantry/client/testing';
import { silentLog } from '@gantry/controller-runtime/testing';
import { CONFIG_MAPS, type ConfigMap, isLeadershipEnded, LEASES, StatusError } from '@gantry/objects';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LeaseElection, type LeaseTerm, whileLeading } from './lease-election.ts';

const KEY = { namespace: 'a', name: 'op' };

describe('an election by a Lease', () => {
  let clock: ManualClock;
  let client: FakeObjectClient;
  let events: string[];
  let ends: Promise<void>[];
  let stops: AbortController[];
  let logged: unknown[];
  let elections: LeaseElection[];
  beforeEach(() => {
    clock = new ManualClock();
    client = new FakeObjectClient(clock);
    events = [];
    ends = [];
    stops = [];
    logged = [];
    elections = [];
  });
  afterEach(async () => {
    for (const stop of stops) stop.abort();
    await clock.advance(60_000);
    await Promise.all(ends);
  });
  const text = (identity: string, event: ElectionEvent<LeaseTerm>): string =>
    `${identity} ${event.kind}${'term' in event ? ` ${event.term.transitions} after ${event.term.follows}` : ''}`;
  const candidate = (identity: string, idle = Promise.resolve()): AbortController => {
    const stop = new AbortController();
    const note = (fields: unknown, text: string) => logged.push([identity, fields, text]);
    const log = { ...silentLog, info: note, warn: note };
    const own = { client, lease: KEY, identity, idle: () => idle };
    const election = new LeaseElection({ ...own, clock, random: () => 0, log });
    elections.push(election);
    const take = async (): Promise<void> => {
      for await (const event of election.campaign(stop.signal)) events.push(text(identity, event));
    };
    ends.push(take());
    stops.push(stop);
    return stop;
  };
  const lease = () => client.all(LEASES)[0];
  /** From now on the API server answers nobody. */
  const cutOff = (times: number): void => client.failNext(() => true, StatusError.unavailable('cut off'), times);

  it('has one leader, which renews', async () => {
    candidate('one');
    await clock.advance(0);
    candidate('two');
    await clock.advance(120_000);
    expect(events).toEqual(['one elected 0 after another']);
    expect(lease()?.spec).toMatchObject({ holderIdentity: 'one', leaseDurationSeconds: 15, leaseTransitions: 0 });
    expect(logged).toEqual([['two', { lease: KEY, leader: 'one' }, 'another process leads, waits for the Lease']]);
  });

  it('passes on at once when the leader stops', async () => {
    const first = candidate('one');
    await clock.advance(0);
    candidate('two');
    await clock.advance(10_000);
    first.abort();
    await clock.advance(2400);
    expect(events).toEqual(['one elected 0 after another', 'two elected 1 after another']);
  });

  it('keeps the Lease until the work of the leader has ended', async () => {
    const { promise: idle, resolve: end } = Promise.withResolvers<void>();
    const first = candidate('one', idle);
    await clock.advance(0);
    first.abort();
    await clock.advance(3000);
    expect(lease()?.spec?.holderIdentity).toBe('one');
    end();
    await clock.advance(0);
    expect(lease()?.spec?.holderIdentity).toBe('');
  });

  it('leaves the Lease to expire when the work does not end', async () => {
    const first = candidate('one', new Promise(() => undefined));
    await clock.advance(0);
    first.abort();
    await clock.advance(30_000);
    expect(lease()?.spec?.holderIdentity).toBe('one');
  });

  it('ends a term that cannot be renewed before another can lead', async () => {
    candidate('one');
    await clock.advance(0);
    candidate('two');
    await clock.advance(2000);
    client.failNext(({ verb }) => verb === 'update', StatusError.unavailable('cut off'), 6);
    await clock.advance(9900);
    expect(events).toEqual(['one elected 0 after another']);
    await clock.advance(200);
    expect(events).toEqual(['one elected 0 after another', 'one lost']);
    await clock.advance(20_000);
    expect(events.slice(2), 'whoever is first').toHaveLength(1);
  });

  it('ends a term in time although its client does not stop waiting', async () => {
    candidate('one');
    await clock.advance(0);
    client.update = () => new Promise(() => undefined);
    await clock.advance(11_900);
    expect(events).toEqual(['one elected 0 after another', 'one lost']);
  });

  it('takes over only after the duration of the Lease since its last renewal was seen', async () => {
    const time = new Date(clock.now() + 3_600_000).toISOString();
    const spec = { holderIdentity: 'dead', leaseDurationSeconds: 40, renewTime: time, leaseTransitions: 7 };
    await client.put(LEASES, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { ...KEY }, spec });
    candidate('one');
    await clock.advance(39_000);
    expect(events).toEqual([]);
    await clock.advance(3000);
    expect(events).toEqual(['one elected 8 after another']);
  });

  it('lets caches catch up also after the Lease of the leader was deleted', async () => {
    candidate('one');
    await clock.advance(0);
    client.failNext(({ verb }) => verb === 'update', StatusError.unavailable('cut off'), 3);
    await client.delete(LEASES, KEY, {}, new AbortController().signal);
    // It has never seen the Lease of the other one.
    candidate('two');
    await clock.advance(0);
    expect(events).toEqual(['one elected 0 after another', 'two elected 0 after another']);
    await clock.advance(9000);
    expect(events.slice(2)).toEqual(['one lost']);
  });

  it('survives a write of somebody else to the Lease, and a short failure', async () => {
    candidate('one');
    await clock.advance(0);
    const labels = { touched: 'yes' };
    await client.patch(LEASES, KEY, { merge: { metadata: { labels } } }, new AbortController().signal);
    await clock.advance(4000);
    cutOff(2);
    await clock.advance(30_000);
    expect(events).toEqual(['one elected 0 after another']);
    expect(lease()?.metadata.labels).toEqual(labels);
  });

  it('loses at once when another holds the Lease', async () => {
    candidate('one');
    await clock.advance(0);
    const spec = { holderIdentity: 'usurper', leaseDurationSeconds: 15 };
    await client.patch(LEASES, KEY, { merge: { spec } }, new AbortController().signal);
    await clock.advance(2100);
    expect(events).toEqual(['one elected 0 after another', 'one lost']);
  });

  const { signal } = new AbortController();
  const configMap = (name: string): ConfigMap => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'a' },
  });
  const writerOf = (index: number) => whileLeading(client, must(elections[index], 'an election'));

  it('gives each write the term of its leader', async () => {
    candidate('one');
    await clock.advance(0);
    const writer = writerOf(0);
    await writer.create(CONFIG_MAPS, configMap('a'), signal);
    await clock.advance(60_000);
    await writer.apply(CONFIG_MAPS, { ...configMap('a'), data: { a: 'b' } }, {}, signal);
    await writer.batch([{ verb: 'delete', resource: CONFIG_MAPS, key: { namespace: 'a', name: 'a' } }], signal);
    const fence = { ...KEY, uid: lease()?.metadata.uid, holder: 'one', transitions: 0 };
    const own = client.writes.filter(({ resource }) => resource === CONFIG_MAPS);
    expect(own.map((write) => write.fence)).toEqual([fence, fence, fence]);
    expect(client.writes.filter(({ resource, fence: of }) => resource === LEASES && of !== undefined)).toEqual([]);
  });

  it.each<[string, (writer: ObjectClient) => Promise<unknown>]>([
    ['write', (writer) => writer.create(CONFIG_MAPS, configMap('late'), signal).catch((error: unknown) => error)],
    [
      'batch',
      (writer) => {
        const object = configMap('late');
        return writer.batch([{ verb: 'create', resource: CONFIG_MAPS, namespace: 'a', object }], signal);
      },
    ],
  ])('ends its term at once when the API server refuses a %s of it', async (_, send) => {
    candidate('one');
    await clock.advance(0);
    const spec = { holderIdentity: 'usurper', leaseDurationSeconds: 15, leaseTransitions: 1 };
    await client.patch(LEASES, KEY, { merge: { spec } }, signal);
    await send(writerOf(0));
    expect(() => elections[0]?.fence()).toThrow('this process does not hold the Lease a/op any more');
    await clock.advance(0);
    expect(events).toEqual(['one elected 0 after another', 'one lost']);
    const text = 'a write was refused as that of a former leader: looks at the Lease';
    expect(logged).toContainEqual([
      'one',
      { lease: KEY, reason: expect.stringContaining('the term of one has ended') },
      text,
    ]);
    expect(client.all(CONFIG_MAPS)).toEqual([]);
    await clock.advance(30_000);
    expect(events.at(-1), 'it is a candidate again').toBe('one elected 2 after another');
    await writerOf(0).create(CONFIG_MAPS, configMap('next'), signal);
  });

  const ENDED = StatusError.leadershipEnded(CONFIG_MAPS, 'a', 'says a webhook');
  const isCreate = ({ verb }: { readonly verb: string }) => verb === 'create';

  it('writes nothing after the word of a response that its term has ended, until it has renewed the Lease', async () => {
    candidate('one');
    await clock.advance(0);
    client.failNext(isCreate, ENDED);
    await expect(writerOf(0).create(CONFIG_MAPS, configMap('a'), signal)).rejects.toThrow('says a webhook');
    await expect(writerOf(0).create(CONFIG_MAPS, configMap('b'), signal)).rejects.toThrow('nothing was written');
    await clock.advance(0);
    await writerOf(0).create(CONFIG_MAPS, configMap('c'), signal);
    client.failNext(isCreate, ENDED);
    await expect(writerOf(0).create(CONFIG_MAPS, configMap('d'), signal)).rejects.toThrow('says a webhook');
    await clock.advance(0);
    expect(events).toEqual(['one elected 0 after another']);
    expect(client.all(CONFIG_MAPS).map(({ metadata }) => metadata.name)).toEqual(['c']);
  });

  it('ends its term when it can neither write nor see whether it holds the Lease', async () => {
    candidate('one');
    await clock.advance(0);
    client.failNext(isCreate, ENDED);
    client.failNext(({ verb }) => verb === 'update', StatusError.unavailable('cut off'));
    await expect(writerOf(0).create(CONFIG_MAPS, configMap('a'), signal)).rejects.toThrow('says a webhook');
    await clock.advance(0);
    expect(events).toEqual(['one elected 0 after another', 'one lost']);
  });

  it('ends its term when the Lease names another term of it', async () => {
    candidate('one');
    await clock.advance(0);
    await client.patch(LEASES, KEY, { merge: { spec: { leaseTransitions: 7 } } }, signal);
    await clock.advance(2000);
    expect(events).toEqual(['one elected 0 after another', 'one lost']);
    await clock.advance(3000);
    expect(events.slice(2)).toEqual(['one elected 8 after nobody']);
  });

  it('keeps its term when another refusal, or the refusal of a former term, arrives', async () => {
    candidate('one');
    await clock.advance(0);
    const former = must(elections[0]?.fence(), 'a term');
    client.failNext(({ verb }) => verb === 'create', StatusError.forbidden(CONFIG_MAPS, 'a', 'no right'));
    await expect(writerOf(0).create(CONFIG_MAPS, configMap('a'), signal)).rejects.toThrow('no right');
    elections[0]?.refused({ ...former, transitions: 7 }, new StatusError('Forbidden', 'late'));
    await clock.advance(10_000);
    expect(events).toEqual(['one elected 0 after another']);
  });

  it('begins another term when it takes back its own Lease, which keeps out what it sent before', async () => {
    candidate('one');
    await clock.advance(0);
    const former = must(elections[0]?.fence(), 'a term');
    cutOff(6);
    await clock.advance(20_000);
    expect(events).toEqual(['one elected 0 after another', 'one lost', 'one elected 1 after nobody']);
    const late = {
      verb: 'create',
      resource: CONFIG_MAPS,
      namespace: 'a',
      object: configMap('late'),
      fence: former,
    } as const;
    await expect(client.write(late, signal)).rejects.toSatisfy(isLeadershipEnded);
  });

  it('refuses times with which two could lead', () => {
    const own = {
      client,
      lease: KEY,
      identity: 'i',
      idle: () => Promise.resolve(),
      clock,
      random: () => 0,
      log: silentLog,
    };
    expect(() => new LeaseElection({ ...own, renewMs: 15_000 })).toThrow('renewMs: must be less than leaseMs');
    expect(() => new LeaseElection({ ...own, renewMs: Number.NaN })).toThrow('renewMs: must be less than leaseMs');
    expect(() => new LeaseElection({ ...own, leaseMs: 12_500 })).toThrow('leaseMs: must be whole seconds');
    expect(() => new LeaseElection({ ...own, retryMs: 10_000 })).toThrow('retryMs: must be between 0 and renewMs');
  });
});
