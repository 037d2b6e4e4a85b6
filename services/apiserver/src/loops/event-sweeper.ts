import { type Clock, ControlLoop, errorMessage, type Instant } from '@gantry/base';
import type { ResourceDefinition } from '@gantry/apimachinery';
import type { Event, KubeObject } from '@gantry/objects';
import type { GroupMember, Logger } from '@gantry/service';
import type { WatchCache } from '../cache/index.ts';
import type { ObjectStore } from '../storage/index.ts';

/** How long Events are kept, as in Kubernetes. */
const KEEP_MS = 3_600_000;
const EVERY_MS = 60_000;
/** Number of Events that are deleted together. The limit keeps the delay of users' writes small. */
const BATCH = 100;

interface EventSweeperOptions {
  readonly store: ObjectStore;
  readonly cache: WatchCache;
  readonly definition: ResourceDefinition;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Deletes Events one hour after their last write. Each delete is guarded, so that an Event that was updated meanwhile stays. */
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

/** The time of the last write of an Event, by its own fields. */
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
