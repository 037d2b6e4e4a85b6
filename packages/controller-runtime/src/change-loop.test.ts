import { ManualClock } from '@gantry/base/testing';
import { type KubeObject, PODS, type Resource, SERVICES } from '@gantry/objects';
import { expect, test } from 'vitest';
import { ChangeLoop } from './change-loop.ts';
import type { InformerEvent } from './informers.ts';

const object = (kind: string, name: string): KubeObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { namespace: 'shop', name },
});
const changed = (
  resource: Resource,
  ...changes: readonly { object?: KubeObject; old?: KubeObject }[]
): InformerEvent => ({
  kind: 'changed',
  resource,
  changes: changes.map(({ object: now, old }) => ({ object: now, old })),
});

function start() {
  const clock = new ManualClock();
  return { clock, loop: new ChangeLoop({ name: 'rules', shown: [SERVICES], clock }) };
}

test('a run that has an effect is a decision, with the objects whose changes it took', async () => {
  const { clock, loop } = start();
  const [web, api] = [object('Service', 'web'), object('Service', 'api')];
  loop.take(changed(PODS, { object: object('Pod', 'web-1') }));
  loop.take(changed(SERVICES, { object: web }, { object: api, old: api }, { old: object('Service', 'old') }));
  loop.take(changed(SERVICES, { object: object('Service', 'fourth') }));
  expect(loop.state().queue).toMatchObject({ depth: 5, adds: 5, unfinishedSeconds: 0 });
  const running = loop.begin();
  await clock.advance(250);
  expect(loop.state().queue).toMatchObject({ depth: 0, unfinishedSeconds: 0.25 });
  running.took('wrote 2 chains');
  running.ended();
  const { name, queue, reconciles, decisions } = loop.state();
  expect([name, queue.depth, queue.unfinishedSeconds, reconciles.total, reconciles.longestSeconds]).toEqual([
    'rules',
    0,
    0,
    1,
    0.25,
  ]);
  expect(decisions).toMatchObject([
    {
      key: { group: '', kind: 'Service', namespace: 'shop', name: 'web' },
      result: 'done',
      seconds: 0.25,
      events: [
        { reason: 'ServiceCreated', message: 'shop/web: wrote 2 chains' },
        { reason: 'ServiceUpdated', message: 'shop/api: wrote 2 chains' },
        { reason: 'ServiceDeleted', message: 'shop/old: wrote 2 chains' },
      ],
    },
  ]);
});

test('a run without an effect counts, and is no decision', () => {
  const { loop } = start();
  loop.take(changed(SERVICES, { object: object('Service', 'web') }));
  loop.begin().ended();
  expect(loop.state()).toMatchObject({ queue: { depth: 0 }, reconciles: { total: 1 }, decisions: [] });
});

test('after a failure the changes wait again, before those that came meanwhile', () => {
  const { loop } = start();
  loop.take(changed(SERVICES, { object: object('Service', 'web') }));
  const failing = loop.begin();
  loop.take(changed(SERVICES, { object: object('Service', 'api') }));
  failing.ended(new RangeError('refused'));
  expect(loop.state()).toMatchObject({
    queue: { depth: 2, retries: 1 },
    reconciles: { total: 1, failed: 1 },
    decisions: [{ key: { name: 'web' }, result: 'failed', error: 'refused' }],
  });
  const running = loop.begin();
  running.took('written');
  running.ended();
  expect(loop.state().queue.depth).toBe(0);
  expect(loop.state().decisions[0]?.events).toEqual([
    { reason: 'ServiceCreated', message: 'shop/web: written' },
    { reason: 'ServiceCreated', message: 'shop/api: written' },
  ]);
});

test('an effect of changes that are not shown has the name of the loop', () => {
  const { loop } = start();
  loop.take(changed(PODS, { object: object('Pod', 'web-1') }));
  const running = loop.begin();
  running.took('written');
  running.ended();
  expect(loop.state().decisions).toMatchObject([
    { key: { namespace: '', name: 'rules' }, events: [{ reason: 'OtherChanges', message: 'written' }] },
  ]);
});
