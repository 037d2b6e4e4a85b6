import { CONFIG_MAPS } from '@gantry/objects';
import { setTimeout as delay } from 'node:timers/promises';
import type { HttpClient } from '@gantry/client';
import { deadline } from '../cluster.ts';
import type { Collection, Endpoint } from './endpoint.ts';
import type { Row } from './report.ts';
import { configMap } from './requests.ts';
import { costOf, type MeasuredServer } from './server.ts';

/** Watchers, writes, and writes per second: as much as one client process can read. */
const LOADS = [
  { watchers: 1, writes: 1_000, perSecond: 1_000 },
  { watchers: 100, writes: 500, perSecond: 100 },
  { watchers: 1_000, writes: 100, perSecond: 20 },
] as const;

const PATIENCE_MS = 60_000;

/**
 * One client repeatedly replaces a ConfigMap of 2 KB while others watch. Measures the time from sending a write to the arrival
 * of each event, and the cost per event, including that of the writes.
 */
export async function* measureWatches(
  server: MeasuredServer,
  endpoint: Endpoint,
  api: HttpClient,
  namespace: string,
): AsyncGenerator<Row> {
  const collection: Collection = { resource: CONFIG_MAPS, namespace };
  const name = `watched-${endpoint.name.toLowerCase().replace(' ', '-')}`;
  await endpoint.create(collection, configMap(name, 'x'));
  let written = 0;
  for (const { watchers, writes, perSecond } of LOADS) {
    const stop = new AbortController();
    const { resourceVersion } = await api.list(CONFIG_MAPS, { namespace }, deadline());
    const sentAt: number[] = [];
    const lagsMs: number[] = [];
    const all = new Arrivals(watchers);
    const watches = Array.from({ length: watchers }, () => {
      let seen = 0;
      const onEvents = (count: number) => {
        const now = performance.now();
        for (let event = 0; event < count; event++) lagsMs.push(now - (sentAt[seen++] ?? now));
        all.add(count);
      };
      return endpoint.watch(collection, resourceVersion, onEvents, stop.signal);
    });
    const ended = Promise.all(watches);
    ended.catch((error: unknown) => all.fail(error));
    const write = async () => {
      sentAt.push(performance.now());
      // An unchanged object would cause no event.
      await endpoint.update(collection, configMap(name, 'y', written++));
    };
    // The first write proves that every watch is open.
    await write();
    await all.reached(1);
    lagsMs.length = 0;
    const cost = await costOf(server, async () => {
      const startedAt = performance.now();
      for (let made = 0; made < writes; made++) {
        const early = startedAt + (made * 1000) / perSecond - performance.now();
        if (early > 0) await delay(early);
        await write();
      }
      await all.reached(writes + 1);
    });
    stop.abort();
    await ended;
    yield {
      what: `watch event, ${watchers} watchers`,
      endpoint: endpoint.name,
      count: writes * watchers,
      lagsMs,
      cost,
    };
  }
}

/** Counts events over all watchers, and resolves when a number is reached. */
class Arrivals {
  readonly #watchers: number;
  #count = 0;
  #wanted = Number.POSITIVE_INFINITY;
  #waiting = Promise.withResolvers<void>();

  constructor(watchers: number) {
    this.#watchers = watchers;
  }

  add(count: number): void {
    this.#count += count;
    if (this.#count >= this.#wanted) this.#waiting.resolve();
  }

  fail(error: unknown): void {
    this.#waiting.reject(error);
  }

  async reached(each: number): Promise<void> {
    this.#wanted = each * this.#watchers;
    if (this.#count >= this.#wanted) return;
    this.#waiting = Promise.withResolvers<void>();
    const late = new AbortController();
    const timeout = delay(PATIENCE_MS, undefined, { signal: late.signal }).then(
      () => Promise.reject(new Error(`${this.#count} of ${this.#wanted} events came`)),
      () => undefined,
    );
    await Promise.race([this.#waiting.promise, timeout]);
    late.abort();
  }
}
