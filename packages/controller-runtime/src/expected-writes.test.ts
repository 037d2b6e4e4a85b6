import { ManualClock } from '@gantry/base/testing';
import { FakeObjectClient } from '@gantry/client/testing';
import { CONFIG_MAPS, type ConfigMap, type KubeObject, NODES, type ObjectKey, type Resource } from '@gantry/objects';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Cache } from './cache.ts';
import { ExpectedWrites } from './expected-writes.ts';

const KEY = { namespace: 'a', name: 'one' };
const CONFIG_MAP: ConfigMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...KEY } };
const signal = new AbortController().signal;

describe('expected writes', () => {
  let writes: ExpectedWrites;
  let reached: number;
  let cached: KubeObject | undefined;
  const cache = {
    reached: (resource: Resource) => (resource.resource === 'configmaps' ? reached : undefined),
    get: (_resource: Resource, _key: ObjectKey) => cached,
  } as Partial<Cache> as Cache;
  beforeEach(() => {
    writes = new ExpectedWrites(new FakeObjectClient(new ManualClock()));
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
});
