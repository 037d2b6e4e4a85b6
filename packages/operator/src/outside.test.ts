import { ManualClock } from '@gantry/base/testing';
import { FakeObjectClient } from '@gantry/client/testing';
import { CONFIG_MAPS, type ConfigMap, EVENTS, SECRETS } from '@gantry/objects';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { declare, OutsideError } from './index.ts';
import { startOperator } from './testing/start-operator.ts';

const KEY = { namespace: 'a', name: 'site' };
const FINALIZER = 'example.com/names';
const site = (names: string): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { ...KEY },
  data: { names },
});

/** Names in a DNS, by the uid of their owner. */
class Dns {
  readonly records = new Map<string, readonly string[]>();
  readonly calls: string[] = [];
  fails: Error | undefined;
  /** Of what is written; it is not shown before. */
  lateBy = 0;

  async read(uid: string): Promise<{ names: readonly string[] }> {
    this.calls.push('read');
    this.#check();
    return { names: this.records.get(uid) ?? [] };
  }

  async write(uid: string, names: readonly string[]): Promise<void> {
    this.calls.push(`write ${names.join()}`);
    this.#check();
    if (this.lateBy-- > 0) return;
    if (names.length === 0) this.records.delete(uid);
    else this.records.set(uid, names);
  }

  #check(): void {
    if (this.fails !== undefined) throw this.fails;
  }
}

describe('a declared controller of what is outside', () => {
  let clock: ManualClock;
  let client: FakeObjectClient;
  let dns: Dns;
  let stop: AbortController;
  let ended: Promise<void>;
  let errors: readonly unknown[];
  beforeEach(async () => {
    clock = new ManualClock();
    client = new FakeObjectClient(clock);
    dns = new Dns();
    stop = new AbortController();
    const controller = declare({
      name: 'sites',
      for: CONFIG_MAPS,
      owns: [SECRETS],
      outside: {
        finalizer: FINALIZER,
        read: ({ metadata }) => dns.read(metadata.uid ?? ''),
        write: ({ names }, { metadata }) => dns.write(metadata.uid ?? '', names),
        cleanUp: ({ metadata }) => dns.write(metadata.uid ?? '', []),
      },
      desire: ({ object, outside }) => {
        const names = object.data?.['names'];
        const data = { seen: Buffer.from(outside.names.join()).toString('base64') };
        return {
          objects: [{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'names' }, data }],
          ...(names === undefined ? {} : { outside: { names: names.split(',') } }),
        };
      },
    });
    ({ ended, errors } = await startOperator(controller, { client, clock, signal: stop.signal }));
  });
  afterEach(async () => {
    stop.abort();
    await clock.advance(20_000);
    await ended;
  });
  const change = async (object: object): Promise<void> => {
    await client.patch(CONFIG_MAPS, KEY, { merge: object }, stop.signal);
    await clock.advance(1000);
  };
  const put = async (names: string): Promise<void> => {
    await client.put(CONFIG_MAPS, site(names));
    await clock.advance(1000);
  };
  const found = () => client.all(CONFIG_MAPS)[0];
  const writes = () => dns.calls.filter((call) => call.startsWith('write'));
  const records = () => [...dns.records.values()].flat();
  const seen = () => Buffer.from(client.all(SECRETS)[0]?.data?.['seen'] ?? '', 'base64').toString();
  const events = () => client.all(EVENTS).map(({ reason, message }) => `${reason}: ${message}`);

  it('writes what is desired after the finalizer is stored, and decides again from it', async () => {
    await put('x,y');
    expect(found()?.metadata.finalizers).toEqual([FINALIZER]);
    expect(writes()).toEqual(['write x,y']);
    expect([records(), seen()]).toEqual([['x', 'y'], 'x,y']);
    const count = dns.calls.length;
    await change({ metadata: { labels: { a: 'b' } } });
    expect(dns.calls.slice(count)).toEqual(['read']);
  });

  it('takes away what is no longer desired, and repairs what somebody else has changed', async () => {
    await put('x,y');
    await change({ data: { names: 'y' } });
    expect(records()).toEqual(['y']);
    dns.records.clear();
    await change({ metadata: { labels: { a: 'b' } } });
    expect([records(), errors]).toEqual([['y'], []]);
  });

  it('writes nothing as long as nothing is desired', async () => {
    await client.put(CONFIG_MAPS, { ...site(''), data: {} });
    await clock.advance(1000);
    expect(new Set(dns.calls)).toEqual(new Set(['read']));
    expect(client.all(SECRETS)).toHaveLength(1);
  });

  it('cleans up before the object is gone', async () => {
    await put('x');
    dns.fails = new TypeError('the DNS is down');
    await client.delete(CONFIG_MAPS, KEY, {}, stop.signal);
    await clock.advance(100);
    expect([found()?.metadata.finalizers, records()]).toEqual([[FINALIZER], ['x']]);
    expect(events()).toEqual(['OutsideFailed: the DNS is down']);
    dns.fails = undefined;
    await clock.advance(10_000);
    expect([found(), records()]).toEqual([undefined, []]);
  });

  it('reports an error as an Event, and tries again', async () => {
    dns.fails = new TypeError('the DNS is down');
    await put('x');
    expect(events()).toEqual(['OutsideFailed: the DNS is down']);
    expect(errors[0]).toBe(dns.fails);
    dns.fails = undefined;
    await clock.advance(10_000);
    expect(records()).toEqual(['x']);
  });

  it('tries again with back-off when what was written is not read', async () => {
    dns.lateBy = 3;
    await put('x');
    expect(errors[0]).toBeInstanceOf(OutsideError);
    expect(String(errors[0])).toContain("outside: { names: [ 'x' ] } was written before, but { names: [] } was read");
    await clock.advance(10_000);
    expect(records()).toEqual(['x']);
    const count = errors.length;
    dns.records.clear();
    await change({ metadata: { labels: { a: 'b' } } });
    expect([records(), errors.length], 'a later change by others is no error').toEqual([['x'], count]);
  });
});
