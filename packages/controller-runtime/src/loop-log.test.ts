import { ManualClock } from '@gantry/base/testing';
import type { KubeObject } from '@gantry/objects';
import { CONFIG_MAPS, PODS } from '@gantry/objects';
import { expect, test } from 'vitest';
import { LoopLog } from './loop-log.ts';

const QUEUE = { name: 'loop', depth: 1, adds: 2, retries: 0, unfinishedSeconds: 0, longestSeconds: 0 };
const KEY = { namespace: 'shop', name: 'web' };
const POD: KubeObject = { apiVersion: 'v1', kind: 'Pod', metadata: { namespace: 'shop', name: 'web-x1' } };

function start() {
  const clock = new ManualClock();
  const emitted: string[] = [];
  const events = { event: (...[, , reason]: readonly [unknown, unknown, string, string]) => void emitted.push(reason) };
  return { clock, log: new LoopLog(clock), events, emitted };
}

test('a decision has the writes, the reasons and the object', () => {
  const { log, events, emitted } = start();
  const running = log.begin(KEY, events);
  running.onWrite({ verb: 'create', resource: PODS, namespace: 'shop', object: POD }, POD);
  running.onWrite({ verb: 'delete', resource: CONFIG_MAPS, key: KEY }, POD);
  running.events.event(POD, 'Normal', 'SuccessfulCreate', 'Created pod: web-x1');
  running.ended('done', 0.25);
  expect(emitted).toEqual(['SuccessfulCreate']);
  expect(log.state(QUEUE)).toMatchObject({
    name: 'loop',
    queue: { depth: 1, adds: 2 },
    reconciles: { total: 1, failed: 0, meanSeconds: 0.25, longestSeconds: 0.25 },
    decisions: [
      {
        key: KEY,
        result: 'done',
        seconds: 0.25,
        writeCount: 2,
        writes: [
          { verb: 'create', group: '', resource: 'pods', subresource: '', namespace: 'shop', name: 'web-x1' },
          { verb: 'delete', group: '', resource: 'configmaps', subresource: '', namespace: 'shop', name: 'web' },
        ],
        events: [{ reason: 'SuccessfulCreate', message: 'Created pod: web-x1' }],
      },
    ],
  });
});

test('reconciles that decide nothing count, and are no decisions; failures are', () => {
  const { log, events } = start();
  log.begin(KEY, events).ended('done', 0.1);
  log.begin(KEY, events).ended('requeued', 0.3);
  log.begin(KEY, events).ended('conflict', 0.1, new RangeError('another was faster'));
  log.begin(KEY, events).ended('failed', 0.1, new RangeError('x'.repeat(2000)));
  const { reconciles, decisions } = log.state(QUEUE);
  expect(reconciles).toMatchObject({ total: 4, failed: 1, conflicts: 1, longestSeconds: 0.3 });
  expect(reconciles.meanSeconds).toBeCloseTo(0.15);
  expect(decisions.map(({ result, error }) => [result, error?.length])).toEqual([
    ['failed', 500],
    ['conflict', 18],
  ]);
});

test('the rate is the mean of the last ten whole seconds', async () => {
  const { clock, log, events } = start();
  for (let second = 0; second < 25; second++) {
    for (let i = 0; i < 3; i++) log.begin(KEY, events).ended('done', 0);
    await clock.advance(1000);
  }
  expect(log.state(QUEUE).reconciles.perSecond).toBe(3);
  await clock.advance(5000);
  expect(log.state(QUEUE).reconciles.perSecond).toBe(1.5);
  await clock.advance(60_000);
  expect(log.state(QUEUE).reconciles).toMatchObject({ perSecond: 0, total: 75 });
});

test('what is remembered is bounded', () => {
  const { log, events } = start();
  for (let i = 0; i < 100; i++) {
    const running = log.begin({ ...KEY, name: `web-${i}` }, events);
    for (let j = 0; j < 50; j++) {
      running.onWrite({ verb: 'delete', resource: PODS, key: KEY }, POD);
      running.events.event(POD, 'Normal', 'Reason', 'm'.repeat(5000));
    }
    running.ended('done', 0);
  }
  const { decisions } = log.state(QUEUE);
  expect([decisions.length, decisions[0]?.key.name, decisions.at(-1)?.key.name]).toEqual([20, 'web-99', 'web-80']);
  expect([decisions[0]?.writes.length, decisions[0]?.writeCount, decisions[0]?.events.length]).toEqual([5, 50, 3]);
  expect(decisions[0]?.events[0]?.message).toHaveLength(500);
});
