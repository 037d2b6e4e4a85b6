import { setTimeout as delay } from 'node:timers/promises';
import type { HttpClient } from '@gantry/client';
import { CONFIG_MAPS, deadline } from '../cluster.ts';
import type { Collection, Door } from './door.ts';
import type { Row } from './report.ts';
import { configMap } from './requests.ts';
import { costOf, type MeasuredServer } from './server.ts';

/** Watchers, writes, and writes in a second: as much as one client process can read. */
const LOADS = [
  { watchers: 1, writes: 1_000, perSecond: 1_000 },
  { watchers: 100, writes: 500, perSecond: 100 },
  { watchers: 1_000, writes: 100, perSecond: 20 },
] as const;

const PATIENCE_MS = 60_000;

/**
 * One client replaces a ConfigMap of 2 KB again and again while others watch: how long it takes from a write's sending to each
 * event's arrival, and what an event costs. The cost of the writes is in it.
 */
export async function* measureWatches(
  server: MeasuredServer,
  door: Door,
  api: HttpClient,
  namespace: string,
): AsyncGenerator<Row> {
  const collection: Collection = { resource: CONFIG_MAPS, namespace };
  const name = `watched-${door.name.toLowerCase().replace(' ', '-')}`;
  await door.create(collection, configMap(name, 'x'));
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
      return door.watch(collection, resourceVersion, onEvents, stop.signal);
    });
    const ended = Promise.all(watches);
    ended.catch((error: unknown) => all.fail(error));
    const write = async () => {
      sentAt.push(performance.now());
      // An object that does not change would make no event.
      await door.update(collection, configMap(name, 'y', written++));
    };
    // The first write shows that every watch is open.
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
    yield { what: `watch event, ${watchers} watchers`, door: door.name, count: writes * watchers, lagsMs, cost };
  }
}

/** Counts events over all watchers, and tells when each has had so many. */
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
