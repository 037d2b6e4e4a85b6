import { ManualClock } from '@gantry/base/testing';
import type { ObjectReader, WatchEvent } from '@gantry/client';
import { CONFIG_MAPS, type ConfigMap, StatusError } from '@gantry/objects';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Reflector } from './reflector.ts';

type Batches = AsyncIterable<readonly WatchEvent<ConfigMap>[]>;

const IDLE_MS = 10_000;

describe('a reflector', () => {
  let clock: ManualClock;
  let stop: AbortController;
  let calls: string[];
  let watch: (signal: AbortSignal) => Batches;
  beforeEach(() => {
    clock = new ManualClock();
    stop = new AbortController();
    calls = [];
    watch = silent;
  });
  afterEach(async () => {
    stop.abort();
    await clock.advance(10_000);
  });

  const follow = () => {
    const client = {
      list: async () => {
        calls.push('list');
        return { items: [], resourceVersion: '256', continueToken: '' };
      },
      watch: (_resource: unknown, _options: unknown, signal: AbortSignal) => {
        calls.push('watch');
        return watch(signal);
      },
    } as Pick<ObjectReader, 'list' | 'watch'>;
    const reflector = new Reflector({ client, resource: CONFIG_MAPS, clock, random: () => 0.5, idleMs: IDLE_MS });
    void (async () => {
      for await (const event of reflector.events(stop.signal)) void event;
    })();
  };

  it('lists, then watches', async () => {
    follow();
    await clock.advance(1000);
    expect(calls).toEqual(['list', 'watch']);
  });

  it('opens a watch again that says nothing for too long', async () => {
    follow();
    await clock.advance(IDLE_MS + 1);
    expect(calls).toEqual(['list', 'watch', 'watch']);
  });

  it('lists again when the server has forgotten the version of its watch', async () => {
    let forgotten: 'yes' | 'no' = 'yes';
    watch = (signal) => {
      if (forgotten === 'no') return silent(signal);
      forgotten = 'no';
      return expired();
    };
    follow();
    await clock.advance(1000);
    expect(calls).toEqual(['list', 'watch', 'list', 'watch']);
  });

  it.each([
    ['a minute without a server', StatusError.unavailable('no API server can be reached')],
    ['a minute of servers that do not respond in time', StatusError.timeout('etcd has not responded')],
  ])('goes on within 1.2 s after %s', async (_, error) => {
    let way: 'open' | 'cut' = 'cut';
    watch = (signal) => (way === 'open' ? silent(signal) : failing(error));
    follow();
    await clock.advance(60_000);
    way = 'open';
    const before = calls.length;
    await clock.advance(1200);
    expect(calls.length).toBe(before + 1);
    await clock.advance(5000);
    expect(calls.length).toBe(before + 1);
  });

  it('lists within 1.2 s when the server that is back after 100 s has forgotten the version', async () => {
    let way: 'cut' | 'forgotten' | 'open' = 'cut';
    watch = (signal) => {
      if (way === 'open') return silent(signal);
      if (way === 'cut') return failing(StatusError.unavailable('no API server can be reached'));
      way = 'open';
      return expired();
    };
    follow();
    await clock.advance(100_000);
    way = 'forgotten';
    calls = [];
    await clock.advance(1200);
    expect(calls).toEqual(['watch', 'list', 'watch']);
  });

  it('waits longer and longer for a server that forgets each version', async () => {
    watch = expired;
    follow();
    await clock.advance(1000);
    const first = calls.length;
    expect(first).toBeLessThan(30);
    await clock.advance(1000);
    expect(calls.length - first).toBeLessThan(first);
  });
});

/** A watch without events. */
async function* silent(signal: AbortSignal): Batches & AsyncGenerator<readonly WatchEvent<ConfigMap>[]> {
  await new Promise<void>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

/** A watch that fails. */
async function* failing(error: StatusError): Batches & AsyncGenerator<readonly WatchEvent<ConfigMap>[]> {
  throw error;
}

function expired(): Batches {
  return failing(StatusError.expired('too old resource version'));
}
