import { seededRandom } from '@gantry/base';
import { resources } from '@gantry/kinds';
import { ManualClock } from '@gantry/base/testing';
import { createMetrics } from '@gantry/service';
import { describe, expect, it } from 'vitest';
import { createMemoryObjectStore } from '../storage/testing/memory-store.ts';
import { reportCache } from './cache-metrics.ts';
import { WatchCache } from './watch-cache.ts';

describe('the metrics of the watch cache', () => {
  it('name what is held at the moment, and the bound of what is kept', async () => {
    const clock = new ManualClock();
    const store = createMemoryObjectStore({ clock });
    const encodeProtobuf = () => new Uint8Array(10);
    const cache = new WatchCache({
      store,
      clock,
      random: seededRandom(1),
      definitions: resources,
      encodeProtobuf,
      onError: () => {},
    });
    const stopping = new AbortController();
    const running = cache.run(stopping.signal);
    await clock.advance(10);
    const object = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'a', namespace: 'n' } };
    const value = new TextEncoder().encode(JSON.stringify(object));
    const key = '/registry/configmaps/n/a';
    await store.write({ key, expected: 'absent', value, writer: { name: 'test' } }, stopping.signal);
    await clock.advance(10);
    cache.resource({ group: '', resource: 'configmaps' }).get(key)?.response.protobuf();
    const metrics = createMetrics();
    reportCache(cache, metrics);
    const { text } = await metrics.render();
    expect(text).toContain('gantry_watch_cache_objects{resource="configmaps"} 1');
    expect(text).toContain(`gantry_watch_cache_object_bytes{resource="configmaps"} ${value.length}`);
    expect(text).toContain('gantry_watch_cache_events{resource="configmaps"} 1');
    expect(text).toContain('gantry_watch_cache_representation_bytes 10');
    expect(text).toMatch(/gantry_watch_cache_representation_bytes_limit \d+/);
    stopping.abort();
    await clock.advance(1000);
    await running;
  });
});
