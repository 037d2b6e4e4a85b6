import type { Metrics } from '@gantry/service';
import { REGISTRY } from './object-keys.ts';
import type { CacheStatistics } from './resource-cache.ts';
import type { WatchCache } from './watch-cache.ts';

const PER_RESOURCE: readonly (readonly [keyof CacheStatistics, name: string, help: string])[] = [
  ['objects', 'gantry_watch_cache_objects', 'Objects in the watch cache.'],
  ['bytes', 'gantry_watch_cache_object_bytes', 'Stored size of the objects in the watch cache.'],
  ['events', 'gantry_watch_cache_events', 'Recent changes that watches can resume from.'],
  ['eventBytes', 'gantry_watch_cache_event_bytes', 'Stored size of the objects in those changes.'],
  ['watches', 'gantry_watch_cache_watches', 'Watches that are open.'],
];

/** Reports the size of the watch cache, by resource, and of the shared representations. */
export function reportCache(cache: WatchCache, metrics: Metrics): void {
  for (const [key, name, help] of PER_RESOURCE) {
    metrics.gauge(name, help, ['resource'], (gauge) => {
      for (const held of cache.statistics()) gauge.set(held[key], { resource: held.prefix.slice(REGISTRY.length, -1) });
    });
  }
  metrics.gauge('gantry_watch_cache_representation_bytes', 'Encoded forms of objects that are kept.', [], (gauge) => {
    gauge.set(cache.representations.bytes);
  });
  metrics.gauge('gantry_watch_cache_representation_bytes_limit', 'What those may take.', [], (gauge) => {
    gauge.set(cache.representations.limit);
  });
}
