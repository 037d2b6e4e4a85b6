import { ManualClock } from '@gantry/base/testing';
import { createObjectClient, type ObjectWrite } from '@gantry/client';
import { FakeObjectClient } from '@gantry/client/testing';
import {
  CONFIG_MAPS,
  type ConfigMap,
  isReason,
  type KubeObject,
  NODES,
  type ObjectKey,
  type Resource,
  StatusError,
} from '@gantry/objects';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Cache } from './cache.ts';
import { ExpectedWrites } from './expected-writes.ts';

const KEY = { namespace: 'a', name: 'one' };
const CONFIG_MAP: ConfigMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...KEY } };
const signal = new AbortController().signal;

describe('expected writes', () => {
  let fake: FakeObjectClient;
  let writes: ExpectedWrites;
  let reached: number;
  let cached: KubeObject | undefined;
  const cache = {
    reached: (resource: Resource) => (resource.resource === 'configmaps' ? reached : undefined),
    get: (_resource: Resource, _key: ObjectKey) => cached,
    selects: (_resource: Resource, { metadata }: KubeObject) => metadata.labels?.['outside'] === undefined,
  } as Partial<Cache> as Cache;
  beforeEach(() => {
    fake = new FakeObjectClient(new ManualClock());
    writes = new ExpectedWrites(fake, () => 0.5);
    reached = 0;
    cached = undefined;
  });

  it('are seen when the cache has reached their versions', async () => {
    expect(writes.areSeenBy(cache)).toBe(true);
    const first = await writes.client.create(CONFIG_MAPS, CONFIG_MAP, signal);
    const second = await writes.client.update(CONFIG_MAPS, { ...first, data: { a: 'b' } }, signal);
    expect(writes.areSeenBy(cache)).toBe(false);
    reached = Number(first.metadata.resourceVersion);
    expect(writes.areSeenBy(cache)).toBe(false);
    reached = Number(second.metadata.resourceVersion);
    expect(writes.areSeenBy(cache)).toBe(true);
  });

  it('are seen when the cache no longer has what was deleted', async () => {
    cached = await writes.client.create(CONFIG_MAPS, CONFIG_MAP, signal);
    reached = Number.MAX_SAFE_INTEGER;
    await writes.client.delete(CONFIG_MAPS, KEY, {}, signal);
    expect(writes.areSeenBy(cache)).toBe(false);
    cached = { ...cached, metadata: { ...cached.metadata, uid: 'of its successor' } };
    expect(writes.areSeenBy(cache)).toBe(true);
  });

  it('do not count where nothing is cached', async () => {
    await writes.client.create(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' } }, signal);
    expect(writes.areSeenBy(cache)).toBe(true);
  });

  it('do not count outside the selection of the cache', async () => {
    const labels = { outside: 'yes' };
    await writes.client.create(CONFIG_MAPS, { ...CONFIG_MAP, metadata: { ...KEY, labels } }, signal);
    expect(writes.areSeenBy(cache)).toBe(true);
  });

  it('with a generated name are found again when the response is lost, and not made twice', async () => {
    const unnamed: ConfigMap = { ...CONFIG_MAP, metadata: { namespace: 'a', generateName: 'one-' } };
    const lossy = createObjectClient({
      get: (resource, key, stop) => fake.get(resource, key, stop),
      list: (resource, options, stop) => fake.list(resource, options, stop),
      watch: (resource, options, stop) => fake.watch(resource, options, stop),
      batch: (all, stop) => fake.batch(all, stop),
      write: async (write, stop) => {
        await fake.write(write, stop);
        throw StatusError.timeout('outcome unknown');
      },
    });
    const created = await new ExpectedWrites(lossy, () => 0.2).client.create(CONFIG_MAPS, unnamed, signal);
    expect(fake.all(CONFIG_MAPS)).toEqual([created]);
    expect(created.metadata).toMatchObject({ generateName: 'one-', name: expect.stringMatching(/^one-.{5}$/) });
  });

  it('of a batch are found again, too, when its response or one of its results is lost', async () => {
    const unnamed: ConfigMap = { ...CONFIG_MAP, metadata: { namespace: 'a', generateName: 'one-' } };
    const create = { verb: 'create', resource: CONFIG_MAPS, namespace: 'a', object: unnamed } as const;
    const gone = {
      verb: 'delete',
      resource: CONFIG_MAPS,
      key: { namespace: 'a', name: 'absent' },
      options: {},
    } as const;
    let lost: 'response' | 'result' = 'response';
    const status = StatusError.timeout('outcome unknown').toStatus();
    const lossy = createObjectClient({
      get: (resource, key, stop) => fake.get(resource, key, stop),
      list: (resource, options, stop) => fake.list(resource, options, stop),
      watch: (resource, options, stop) => fake.watch(resource, options, stop),
      write: (write, stop) => fake.write(write, stop),
      batch: async (all, stop) => {
        await fake.batch(all, stop);
        if (lost === 'response') throw StatusError.timeout('outcome unknown');
        return all.map(() => ({ ok: false, status }));
      },
    });
    const draws = [0.1, 0.3, 0.5, 0.7];
    let drawn = 0;
    const random = () => draws[Math.floor(drawn++ / 5)] ?? 0;
    const { client } = new ExpectedWrites(lossy, random);
    for (const what of ['response', 'result'] as const) {
      lost = what;
      const before = fake.all(CONFIG_MAPS).length;
      const results = await client.batch([create, gone, create], signal);
      expect(results.map(({ ok }) => ok)).toEqual([true, false, true]);
      expect(fake.all(CONFIG_MAPS)).toHaveLength(before + 2);
    }
  });

  describe('whose response is lost', () => {
    const unnamed: ConfigMap = { ...CONFIG_MAP, metadata: { namespace: 'a', generateName: 'one-' } };
    const create = { verb: 'create', resource: CONFIG_MAPS, namespace: 'a', object: unnamed } as const;
    let drawn = 0;
    const lost = { ok: false, status: StatusError.timeout('outcome unknown').toStatus() } as const;
    /** Loses responses of single writes, and the first result of a batch. */
    const lossyWrites = () =>
      new ExpectedWrites(
        createObjectClient({
          get: (resource, key, stop) => fake.get(resource, key, stop),
          list: (resource, options, stop) => fake.list(resource, options, stop),
          watch: (resource, options, stop) => fake.watch(resource, options, stop),
          batch: async (all, stop) => (await fake.batch(all, stop)).map((result, i) => (i === 0 ? lost : result)),
          write: async (write, stop) => {
            await fake.write(write, stop);
            throw StatusError.timeout('outcome unknown');
          },
        }),
        () => (drawn += 0.37) % 1,
      );
    const failReads = (times: number) =>
      fake.failNext(({ verb }) => verb === 'get', StatusError.unavailable('away'), times);

    it('are not seen before it is read whether they came about', async () => {
      reached = Number.MAX_SAFE_INTEGER;
      const lossy = lossyWrites();
      failReads(2);
      await expect(lossy.client.create(CONFIG_MAPS, unnamed, signal)).rejects.toThrow('outcome unknown');
      expect(lossy.areSeenBy(cache)).toBe(false);
      await expect(lossy.settle(signal)).rejects.toThrow('away');
      expect(lossy.areSeenBy(cache)).toBe(false);
      await lossy.settle(signal);
      reached = Number(fake.all(CONFIG_MAPS)[0]?.metadata.resourceVersion) - 1;
      expect(lossy.areSeenBy(cache)).toBe(false);
      reached += 1;
      expect(lossy.areSeenBy(cache)).toBe(true);
    });

    describe('and which a read does not find', () => {
      const isCreate = ({ verb }: { readonly verb: string }) => verb === 'create';
      /** Holds the first write back, as a server does that is paused. `arrive` lets it go on. */
      const held = ({ when = 'later' }: { readonly when?: 'later' | 'after the read' } = {}) => {
        let first: ObjectWrite | undefined;
        const arrive = async () => {
          if (first !== undefined) await fake.write(first, signal);
        };
        const client = createObjectClient({
          get: async (resource, key, stop) => {
            const read = await fake.get(resource, key, stop).catch((error: unknown) => {
              if (isReason(error, 'NotFound')) return error;
              throw error;
            });
            if (when === 'after the read' && read instanceof StatusError) await arrive();
            if (read instanceof StatusError) throw read;
            return read;
          },
          list: (resource, options, stop) => fake.list(resource, options, stop),
          watch: (resource, options, stop) => fake.watch(resource, options, stop),
          batch: (all, stop) => fake.batch(all, stop),
          write: async (write, stop) => {
            if (first !== undefined) return await fake.write(write, stop);
            first = write;
            throw StatusError.timeout('outcome unknown');
          },
        });
        return { held: new ExpectedWrites(client, () => (drawn += 0.37) % 1), arrive };
      };

      it('are sent again, so that they come about once when they arrive late', async () => {
        const { held: late, arrive } = held();
        const created = await late.client.create(CONFIG_MAPS, unnamed, signal);
        await expect(arrive()).rejects.toMatchObject({ reason: 'AlreadyExists' });
        expect(fake.all(CONFIG_MAPS)).toEqual([created]);
        expect([late.count, late.areSeenBy(cache)]).toEqual([1, false]);
      });

      it('come about once when they arrive between the read and the second attempt', async () => {
        const { held: late } = held({ when: 'after the read' });
        const created = await late.client.create(CONFIG_MAPS, unnamed, signal);
        expect(fake.all(CONFIG_MAPS)).toEqual([created]);
      });

      it('stay unknown when the second response is lost, too, until they are settled', async () => {
        reached = Number.MAX_SAFE_INTEGER;
        const { held: late, arrive } = held();
        fake.failNext(isCreate, StatusError.timeout('lost, too'), 2);
        await expect(late.client.create(CONFIG_MAPS, unnamed, signal)).rejects.toThrow('outcome unknown');
        expect(late.areSeenBy(cache)).toBe(false);
        await expect(late.settle(signal)).rejects.toThrow('lost, too');
        await late.settle(signal);
        await expect(arrive()).rejects.toMatchObject({ reason: 'AlreadyExists' });
        expect([fake.all(CONFIG_MAPS).length, late.areSeenBy(cache)]).toEqual([1, true]);
      });

      it('are not waited for when the server refuses them', async () => {
        const { held: late } = held();
        fake.failNext(isCreate, StatusError.timeout('lost, too'));
        await expect(late.client.create(CONFIG_MAPS, unnamed, signal)).rejects.toThrow('outcome unknown');
        fake.failNext(isCreate, new StatusError('Forbidden', 'exceeded quota'));
        await late.settle(signal);
        expect([fake.all(CONFIG_MAPS), late.areSeenBy(cache)]).toEqual([[], true]);
      });
    });

    it('leave the other results of their batch as they are', async () => {
      reached = Number.MAX_SAFE_INTEGER;
      const lossy = lossyWrites();
      failReads(1);
      expect((await lossy.client.batch([create, create], signal)).map(({ ok }) => ok)).toEqual([false, true]);
      expect(lossy.count).toBe(1);
      expect(lossy.areSeenBy(cache)).toBe(false);
    });

    it.each(['gone', 'replaced', 'standing'] as const)(
      'and delete are seen when the cache shows what is read: %s',
      async (after) => {
        const object = await fake.create(CONFIG_MAPS, CONFIG_MAP, signal);
        const { uid = '' } = object.metadata;
        reached = Number.MAX_SAFE_INTEGER;
        cached = object;
        const lossy = lossyWrites();
        if (after === 'standing') fake.failNext(({ verb }) => verb === 'delete', StatusError.timeout('never sent'));
        await expect(lossy.client.delete(CONFIG_MAPS, KEY, { uid }, signal)).rejects.toThrow();
        if (after === 'replaced') await fake.create(CONFIG_MAPS, CONFIG_MAP, signal);
        expect(lossy.areSeenBy(cache)).toBe(false);
        await lossy.settle(signal);
        expect(lossy.areSeenBy(cache)).toBe(after === 'standing');
        cached = undefined;
        expect(lossy.areSeenBy(cache)).toBe(true);
      },
    );
  });
});
