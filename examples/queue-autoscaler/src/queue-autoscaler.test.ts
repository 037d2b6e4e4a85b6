import { readFileSync } from 'node:fs';
import { type Deployment, DEPLOYMENTS } from '@gantry/operator';
import { simulate, type Step } from '@gantry/operator/testing';
import { describe, expect, it, test } from 'vitest';
import { decide, queueAutoscaler } from './queue-autoscaler.ts';
import { QUEUE_SCALERS, type QueueScaler } from './queue-scaler.ts';

const namespace = 'default';
const scaler = (spec: Partial<QueueScaler['spec']>, lowerSince?: string): QueueScaler => ({
  apiVersion: 'queue.example.com/v1',
  kind: 'QueueScaler',
  metadata: { name: 'jobs', namespace },
  spec: {
    scaleTargetRef: { name: 'worker' },
    address: 'redis:6379',
    listName: 'jobs',
    listLength: 5,
    minReplicaCount: 0,
    maxReplicaCount: 10,
    pollingInterval: 30,
    cooldownPeriod: 300,
    ...spec,
  },
  ...(lowerSince === undefined ? {} : { status: { lowerSince } }),
});
const NOW = Date.parse('2026-01-01T00:10:00.000Z');

describe('the replicas', () => {
  it.each([
    ['none for an empty queue', {}, 0, 0, 0],
    ['one for one item', {}, 1, 0, 1],
    ['one for a full share', {}, 5, 1, 1],
    ['two for one more', {}, 6, 1, 2],
    ['the most', {}, 1000, 1, 10],
    ['the least', { minReplicaCount: 2 }, 0, 0, 2],
    ['fewer at once without a cooldown', { cooldownPeriod: 0 }, 1, 9, 1],
  ])('are %s', (_, spec, length, replicas, wanted) =>
    expect(decide(scaler(spec), length, replicas, NOW)).toEqual({ replicas: wanted }),
  );

  it('stay until fewer have been enough for the whole cooldown', () => {
    const [began, later] = ['2026-01-01T00:10:00.000Z', '2026-01-01T00:05:00.001Z'];
    expect(decide(scaler({}), 5, 3, NOW)).toEqual({ replicas: 3, lowerSince: began });
    expect(decide(scaler({}, later), 5, 3, NOW)).toEqual({ replicas: 3, lowerSince: later });
    expect(decide(scaler({}, '2026-01-01T00:05:00.000Z'), 5, 3, NOW)).toEqual({ replicas: 1 });
    expect(decide(scaler({}, later), 15, 3, NOW), 'the cooldown begins anew').toEqual({ replicas: 3 });
  });
});

test('each history ends with the replicas for the queue, never more than the most, and never fewer while it is full', async () => {
  let [length, replicas]: [number | string, number] = [0, 0];
  const queue =
    (value: number | string): Step =>
    async () => {
      length = value;
    };
  /** The queue is full until the replicas are there. */
  const fill: Step = async (client, signal) => {
    length = 17;
    for await (const events of client.watch(DEPLOYMENTS, { namespace, sendInitialEvents: true }, signal)) {
      if (events.some((event) => event.type !== 'BOOKMARK' && event.object.spec?.replicas === 4)) return;
    }
  };
  const worker: Deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'worker', namespace },
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: 'worker' } },
      template: {
        metadata: { labels: { app: 'worker' } },
        spec: { containers: [{ name: 'worker', image: 'worker' }] },
      },
    },
  };
  const seen = new Set<number>();
  const report = await simulate({
    operator: () => ({ name: 'queue-autoscaler', controllers: [queueAutoscaler(async () => length)] }),
    kinds: [QUEUE_SCALERS],
    // A simulated cluster is at rest after two minutes without a change: the cooldown must be shorter.
    objects: [scaler({ cooldownPeriod: 60 }), worker],
    steps: [fill, queue('redis:6379: connect ECONNREFUSED'), queue(3)],
    invariant: (objects) => {
      const now = objects.all(DEPLOYMENTS)[0]?.spec?.replicas ?? 0;
      const before = replicas;
      replicas = now;
      seen.add(now);
      if (now > 4) return `${now} replicas`;
      return now < before && before > 1 && length !== 3
        ? `from ${before} to ${now} at a length of ${length}`
        : undefined;
    },
    seeds: 60,
  });
  expect(report.text).toBe('');
  expect([...seen].sort()).toEqual([0, 1, 4]);
  expect(replicas).toBe(1);
});

test('the definition to install is that of the kind', () => {
  const file = new URL('../deploy/definition.json', import.meta.url);
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(QUEUE_SCALERS.definition);
});
