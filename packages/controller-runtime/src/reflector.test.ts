import type { ConfigMap } from '@gantry/objects';
import { CONFIG_MAPS } from '@gantry/objects';
import { type Random, seededRandom } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import type { ObjectReader, WatchEvent } from '@gantry/client';
import { expect, it } from 'vitest';
import { Reflector } from './reflector.ts';

/** A server that sends these batches to the first watch. Later watches stay open without events. */
class ScriptedServer {
  readonly begunAt: string[] = [];
  readonly #batches: readonly (readonly WatchEvent<ConfigMap>[])[];

  constructor(batches: readonly (readonly WatchEvent<ConfigMap>[])[]) {
    this.#batches = batches;
  }

  get reader(): Pick<ObjectReader, 'list' | 'watch'> {
    const server = this;
    return {
      list: () => Promise.resolve({ items: [], resourceVersion: '600', continueToken: '' } as never),
      watch: (_resource, options, signal) => server.#watch(options.resourceVersion ?? '', signal) as never,
    };
  }

  async *#watch(resourceVersion: string, signal: AbortSignal): AsyncGenerator<readonly WatchEvent<ConfigMap>[]> {
    this.begunAt.push(resourceVersion);
    if (this.begunAt.length === 1) yield* this.#batches;
    else await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
  }
}

const bookmark = (resourceVersion: string): WatchEvent<ConfigMap> => ({
  type: 'BOOKMARK',
  resourceVersion,
  initialEventsEnd: false,
});
const added = (resourceVersion: string): WatchEvent<ConfigMap> => ({
  type: 'ADDED',
  object: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'n', resourceVersion } },
});

async function resumedAfter(...batches: readonly (readonly WatchEvent<ConfigMap>[])[]): Promise<readonly string[]> {
  const server = new ScriptedServer(batches);
  const random: Random = seededRandom(1);
  const clock = new ManualClock();
  const reflector = new Reflector<ConfigMap>({ client: server.reader, resource: CONFIG_MAPS, clock, random });
  const stop = new AbortController();
  const running = (async () => {
    for await (const _event of reflector.events(stop.signal)) if (server.begunAt.length === 2) break;
  })();
  while (server.begunAt.length < 2) await clock.advance(10);
  stop.abort();
  await running;
  return server.begunAt;
}

it('resumes no earlier than where it began, whatever bookmark a server that lags sends', async () => {
  expect(await resumedAfter([bookmark('511')])).toEqual(['600', '600']);
});

it('resumes no earlier than the last object that it was sent', async () => {
  expect(await resumedAfter([added('700')], [bookmark('655')])).toEqual(['600', '700']);
});

it('follows versions that are not numbers as they come', async () => {
  expect(await resumedAfter([added('x7')], [bookmark('x6')])).toEqual(['600', 'x6']);
});
