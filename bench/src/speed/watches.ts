import { CONFIG_MAPS } from '@gantry/objects';
import { setTimeout as delay } from 'node:timers/promises';
import type { HttpClient } from '@gantry/client';
import { deadline } from '../cluster.ts';
import type { Collection, EndpointKind } from './endpoint.ts';
import { openUnreadWatches } from './http-endpoint.ts';
import type { Row } from './report.ts';
import { configMap } from './requests.ts';
import { costOf, type MeasuredServer } from './server.ts';

interface Load {
  readonly what?: string;
  readonly watchers: number;
  readonly writes: number;
  /** Writes a second; those of several writers follow each other at once. */
  readonly perSecond: number;
  readonly writers?: number;
  /** Further watchers, which do not read. */
  readonly unread?: number;
}

/** As much as one client process can read, but for the one at full speed. */
const LOADS: readonly Load[] = [
  { watchers: 1, writes: 1_000, perSecond: 1_000 },
  { watchers: 100, writes: 500, perSecond: 100 },
  { watchers: 1_000, writes: 100, perSecond: 20 },
  { watchers: 1_000, writes: 100, perSecond: 20, unread: 100, what: ' beside 100 that do not read' },
  { watchers: 1_000, writes: 400, perSecond: Number.POSITIVE_INFINITY, writers: 16, what: ' at full speed' },
  { watchers: 10_000, writes: 20, perSecond: 2 },
];

/** Of 1,000 watchers at 20 writes a second. */
const ASKED = { watchers: 1_000, cpuMs: 0.01, p99Ms: 50 };
const PATIENCE_MS = 60_000;
/** Servers bound the streams of a connection. */
const WATCHERS_A_CONNECTION = 40;
const MIN_CONNECTIONS = 8;

/**
 * Clients replace ConfigMaps of 2 KB while others watch. Measures the time from sending a write to the arrival of each event, and the cost
 * per event, including that of the writes. The writes of several writers may be committed in another order than they were sent, so the
 * times of single events are exact to the duration of a write.
 */
export async function* measureWatches(
  server: MeasuredServer,
  { name: kind, open }: EndpointKind,
  api: HttpClient,
  namespace: string,
): AsyncGenerator<Row> {
  const collection: Collection = { resource: CONFIG_MAPS, namespace };
  const prefix = `watched-${kind.toLowerCase().replace(' ', '-')}`;
  let written = 0;
  for (const [index, load] of LOADS.entries()) {
    const { watchers, writes, perSecond, writers = 1, unread = 0, what = '' } = load;
    using endpoint = await open(Math.max(MIN_CONNECTIONS, Math.ceil(watchers / WATCHERS_A_CONNECTION)));
    const names = Array.from({ length: writers }, (_, writer) => `${prefix}-${index}-${writer}`);
    for (const name of names) await endpoint.create(collection, configMap(name, 'x'));
    using _ = await openUnreadWatches(server.target, collection, unread);
    const stop = new AbortController();
    const { resourceVersion } = await api.list(CONFIG_MAPS, { namespace, limit: 1 }, deadline());
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
    const write = async (name: string) => {
      sentAt.push(performance.now());
      // An unchanged object would cause no event.
      await endpoint.update(collection, configMap(name, 'y', written++));
    };
    // The first write proves that every watch is open.
    await write(names[0] ?? '');
    await all.reached(1);
    lagsMs.length = 0;
    const cost = await costOf(server, async () => {
      const startedAt = performance.now();
      let made = 0;
      const writeOn = async (name: string) => {
        while (made < writes) {
          const early = startedAt + (made++ * 1000) / perSecond - performance.now();
          if (early > 0) await delay(early);
          await write(name);
        }
      };
      await Promise.all(names.map(writeOn));
      await all.reached(writes + 1);
    });
    stop.abort();
    await ended;
    yield {
      what: `watch event, ${watchers} watchers${what}`,
      endpoint: kind,
      count: writes * watchers,
      lagsMs,
      cost,
      ...(watchers === ASKED.watchers && perSecond === 20 ? { asked: ASKED } : {}),
    };
  }
}

/** Counts events over all watchers, and resolves when a number is reached. A failure rejects the present wait, or the next one. */
export class Arrivals {
  readonly #watchers: number;
  #count = 0;
  #wanted = Number.POSITIVE_INFINITY;
  #waiting = Promise.withResolvers<void>();
  readonly #failed = Promise.withResolvers<never>();

  constructor(watchers: number) {
    this.#watchers = watchers;
    // Thrown by `reached`.
    this.#failed.promise.catch(() => undefined);
  }

  add(count: number): void {
    this.#count += count;
    if (this.#count >= this.#wanted) this.#waiting.resolve();
  }

  fail(error: unknown): void {
    this.#failed.reject(error);
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
    try {
      await Promise.race([this.#waiting.promise, this.#failed.promise, timeout]);
    } finally {
      late.abort();
    }
  }
}
