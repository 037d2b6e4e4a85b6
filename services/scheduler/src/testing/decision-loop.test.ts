import { setImmediate as turn } from 'node:timers/promises';
import { ManualClock } from '@gantry/base/testing';
import { NODES, PODS } from '@gantry/objects';
import { it, onTestFinished } from 'vitest';
import { DecisionLoop } from './decision-loop.ts';
import { exampleNode, examplePod } from './examples.ts';

function start() {
  const loop = new DecisionLoop(new ManualClock());
  onTestFinished(() => loop[Symbol.asyncDispose]());
  return loop;
}

it('binds pods, and pods that come while others are bound', async () => {
  const loop = start();
  loop.create(NODES, [exampleNode('a'), exampleNode('b')]);
  loop.create(PODS, [examplePod('one', { cpu: '1' }), examplePod('two', { cpu: '1' })]);
  await loop.untilBound('default', 2);
  loop.create(PODS, [examplePod('three', { cpu: '1' })]);
  await loop.untilBound('default', 3);
});

it('binds a waiting pod after another was deleted', async () => {
  const loop = start();
  loop.create(NODES, [exampleNode('a', { cpu: '1' })]);
  loop.create(PODS, [examplePod('first', { cpu: '1', namespace: 'first' })]);
  await loop.untilBound('first', 1);
  loop.create(PODS, [examplePod('second', { cpu: '1' })]);
  loop.delete(PODS, { namespace: 'first', name: 'first' });
  await loop.untilBound('default', 1);
});

it('evicts pods of lower priority', async () => {
  const clock = new ManualClock();
  const loop = new DecisionLoop(clock);
  onTestFinished(() => loop[Symbol.asyncDispose]());
  loop.create(NODES, [exampleNode('a', { cpu: '1' })]);
  loop.create(PODS, [examplePod('low', { cpu: '1', namespace: 'low' })]);
  await loop.untilBound('low', 1);
  loop.create(PODS, [examplePod('high', { cpu: '1', namespace: 'high', spec: { priority: 20 } })]);
  await loop.untilDeleted('low', 1);
  await turn();
  await clock.advance(10_000);
  await loop.untilBound('high', 1);
});
