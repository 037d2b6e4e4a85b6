import { ManualClock } from '@gantry/base/testing';
import { PODS } from '@gantry/objects';
import { expect, it } from 'vitest';
import { container, pod } from '../testing/pods.ts';
import { soon, startNode } from '../testing/start-node.ts';
import { StepLog } from './step-log.ts';

it('says what the steps of a pod did: their Events, and why one failed', async () => {
  let failures = 1;
  const node = await startNode({
    wrap: (hollow) => ({
      ...hollow,
      observer: {
        ...hollow.observer,
        watch: (cluster, signal) => hollow.observer.watch(cluster, signal),
        listPods: async (filter) => {
          if (failures-- > 0) throw new RangeError('the engine lists nothing');
          return await hollow.observer.listPods(filter);
        },
      },
    }),
  });
  const { metadata } = await node.put(pod({ containers: [container()] }, {}, { name: 'web' }));
  await node.clock.advance(10);
  node.work(metadata.uid ?? '');
  await soon(node, () => node.client.all(PODS)[0]?.status?.phase).toBe('Running');
  await soon(node, () => node.steps.state().queue.unfinishedSeconds).toBe(0);
  const { name, queue, reconciles, decisions } = node.steps.state();
  expect([name, queue.depth, queue.unfinishedSeconds, reconciles.failed]).toEqual(['pods', 0, 0, 1]);
  expect(queue.retries).toBe(1);
  expect(reconciles.total).toBeGreaterThan(2);
  const key = { namespace: metadata.namespace, name: 'web' };
  const failed = decisions.filter(({ result }) => result === 'failed');
  expect(failed).toMatchObject([{ key, error: expect.stringContaining('the engine lists nothing') }]);
  const reasons = decisions.flatMap(({ events }) => events.map(({ reason }) => reason));
  expect(reasons).toEqual(expect.arrayContaining(['Created', 'Started']));
  for (const decision of decisions) expect(decision.key).toEqual(key);
});

it('counts steps that run and workers that wait, and leaves Events of other pods alone', async () => {
  const clock = new ManualClock();
  const recorded: string[] = [];
  const log = new StepLog(clock, { event: (_about, _type, reason) => void recorded.push(reason) });
  const step = log.begin('a', { namespace: 'n', name: 'one' });
  await clock.advance(2000);
  using _ = log.backOff();
  expect(log.state().queue).toEqual({ depth: 1, adds: 1, retries: 1, unfinishedSeconds: 2, longestSeconds: 2 });
  log.events.event(pod({}, {}, { uid: 'b' }), 'Normal', 'Other', '');
  log.events.event(pod({}, {}, { uid: 'a' }), 'Normal', 'Own', 'message');
  step.ended('aborted');
  log.events.event(pod({}, {}, { uid: 'a' }), 'Normal', 'Later', '');
  expect(recorded).toEqual(['Other', 'Own', 'Later']);
  const { queue, reconciles, decisions } = log.state();
  expect([queue.unfinishedSeconds, reconciles]).toEqual([
    0,
    { total: 1, failed: 0, conflicts: 0, perSecond: 0, meanSeconds: 2, longestSeconds: 2 },
  ]);
  expect(decisions).toMatchObject([
    { key: { namespace: 'n', name: 'one' }, result: 'requeued', events: [{ reason: 'Own', message: 'message' }] },
  ]);
});
