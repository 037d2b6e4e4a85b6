import { seededRandom } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import { silentLogger } from '@gantry/service';
import { expect, onTestFinished, test } from 'vitest';
import { FlowCleaner } from './flow-cleaner.ts';

const DNS = new Map([['udp 10.96.0.10:53', new Set(['10.128.4.1'])]]);
const WEB = new Map([['tcp 10.96.0.12:80', new Set(['10.128.4.3'])]]);
const NTP = new Map([['udp 10.96.0.11:123', new Set(['10.128.4.2'])]]);

/** Starts a cleaner whose rounds are recorded. The test decides how each round ends. */
function start() {
  const clock = new ManualClock();
  const rounds: { readonly addresses: readonly string[]; readonly end: PromiseWithResolvers<number> }[] = [];
  const cleaner = new FlowCleaner({
    forgetStaleFlows: (targets, signal) => {
      const end = Promise.withResolvers<number>();
      signal.addEventListener('abort', () => end.reject(signal.reason as Error));
      rounds.push({ addresses: [...targets.keys()], end });
      return end.promise;
    },
    clock,
    random: seededRandom(1),
    logger: silentLogger,
  });
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  void cleaner.run(stop.signal);
  const addresses = () => rounds.map((round) => round.addresses);
  return { clock, cleaner, rounds, addresses };
}

/** Runs everything that is ready. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

test('what changes during a round is looked at in the next one, a second later', async () => {
  const { clock, cleaner, rounds, addresses } = start();
  cleaner.clean(DNS);
  await settle();
  cleaner.clean(NTP);
  await settle();
  expect(addresses()).toEqual([['udp 10.96.0.10:53']]);
  rounds[0]?.end.resolve(1);
  await settle();
  await clock.advance(999);
  await settle();
  expect(addresses(), 'a burst of changes').toEqual([['udp 10.96.0.10:53']]);
  await clock.advance(1);
  await settle();
  expect(addresses()).toEqual([['udp 10.96.0.10:53'], ['udp 10.96.0.11:123']]);
});

test('without changed addresses nothing is looked at', async () => {
  const { cleaner, addresses } = start();
  cleaner.clean(new Map());
  await settle();
  expect(addresses()).toEqual([]);
});

test('a round that fails or hangs is repeated with what has changed since', async () => {
  const { clock, cleaner, rounds, addresses } = start();
  cleaner.clean(DNS);
  await settle();
  rounds[0]?.end.reject(new Error('no program'));
  await settle();
  cleaner.clean(NTP);
  const both = ['udp 10.96.0.10:53', 'udp 10.96.0.11:123'];
  await clock.advance(1000);
  await settle();
  expect(addresses()).toEqual([['udp 10.96.0.10:53'], both]);
  await clock.advance(30_000);
  await settle();
  await clock.advance(1000);
  await settle();
  expect(addresses()).toEqual([['udp 10.96.0.10:53'], both, both]);
});

test('a Service that has lost an endpoint of TCP is looked at again while the pod may reset connections, others are not', async () => {
  const { clock, cleaner, rounds, addresses } = start();
  cleaner.clean(new Map([...WEB, ...DNS]));
  await settle();
  expect(addresses()).toEqual([['tcp 10.96.0.12:80', 'udp 10.96.0.10:53']]);
  const advance = async (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      rounds.at(-1)?.end.resolve(0);
      await settle();
      await clock.advance(1000);
      await settle();
    }
  };
  await advance(3);
  expect(addresses().slice(1)).toEqual([['tcp 10.96.0.12:80']]);
  await advance(42);
  const count = rounds.length;
  expect(count).toBeGreaterThan(10);
  await advance(60);
  expect(rounds.length).toBe(count);
});

test('looks that take long are far between', async () => {
  const { clock, cleaner, rounds } = start();
  cleaner.clean(WEB);
  await settle();
  await clock.advance(1000);
  rounds[0]?.end.resolve(0);
  await settle();
  await clock.advance(1000);
  await settle();
  await clock.advance(19_999);
  await settle();
  expect(rounds).toHaveLength(1);
  await clock.advance(1);
  await settle();
  expect(rounds).toHaveLength(2);
});
