import { type Clock, ControlLoop, errorMessage, type Instant } from '@gantry/base';
import type { ResourceDefinition } from '@gantry/apimachinery';
import type { Event, KubeObject } from '@gantry/objects';
import type { GroupMember, Logger } from '@gantry/service';
import type { WatchCache } from '../cache/index.ts';
import type { ObjectStore } from '../storage/index.ts';

/** How long Kubernetes keeps Events. */
const KEEP_MS = 3_600_000;
const EVERY_MS = 60_000;
/** Deleted together: users' writes wait for no more than these. */
const BATCH = 100;

interface EventSweeperOptions {
  readonly store: ObjectStore;
  readonly cache: WatchCache;
  readonly definition: ResourceDefinition;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Deletes Events an hour after they were last seen. Each delete is guarded: an event that was renewed meanwhile stays. */
export function eventSweeper(options: EventSweeperOptions): GroupMember {
  const { cache, clock, logger } = options;
  return new ControlLoop({
    name: 'event-sweeper',
    clock,
    intervalMs: EVERY_MS,
    round: async (signal) => {
      await cache.whenReady(signal);
      await sweep(options, signal);
    },
    onError: (error) => logger.warn({ reason: errorMessage(error) }, 'deleting old events failed, retrying'),
  });
}

async function sweep({ store, cache, definition, clock }: EventSweeperOptions, signal: AbortSignal): Promise<void> {
  const before = clock.now() - KEEP_MS;
  const expired = cache
    .resource(definition)
    .snapshot()
    .filter((entry) => lastSeen(entry.response.object) < before);
  const writer = { name: 'event-sweeper' };
  for (let start = 0; start < expired.length; start += BATCH) {
    const deletions = expired
      .slice(start, start + BATCH)
      .map(({ key, resourceVersion }) => store.write({ key, expected: resourceVersion, value: null, writer }, signal));
    await Promise.all(deletions);
  }
}

/** When an Event was written last, as far as it says. */
export function lastSeen(object: KubeObject): Instant {
  const event = object as Event;
  const times = [
    event.metadata.creationTimestamp,
    event.lastTimestamp,
    event.eventTime,
    event.series?.lastObservedTime,
  ];
  return Math.max(0, ...times.map((time) => Date.parse(time ?? '')).filter((at) => !Number.isNaN(at)));
}
