import { ManualClock } from '@gantry/base/testing';
import { LoopLog } from '@gantry/controller-runtime';
import { expect, test } from 'vitest';
import { DecisionLog } from './decision-log.ts';
import { createPodInfo } from './framework/pod-info.ts';
import { planAssignments } from './plan.ts';
import { SchedulingQueue } from './queue.ts';
import { countResult, schedulingLoop } from './scheduling-loop.ts';
import { exampleNode, examplePod, exampleSnapshot } from './testing/examples.ts';

test('the scheduler is a loop: its queue, its results, and its last decisions with their reasons', () => {
  const clock = new ManualClock();
  const [loop, log] = [new LoopLog(clock), new DecisionLog(clock)];
  const queue = new SchedulingQueue({ clock, random: () => 0.5 });
  const pods = [examplePod('web', { cpu: '1' }), examplePod('large', { cpu: '100' })].map(createPodInfo);
  for (const pod of pods) queue.put(pod);
  log.add(planAssignments(exampleSnapshot([exampleNode('a')]), pods, 1));
  countResult(loop, 'scheduled', 0.2);
  countResult(loop, 'unschedulable', 0.2);
  countResult(loop, 'error', 0.2);
  const namespace = pods[0]?.pod.metadata.namespace;
  expect(schedulingLoop(queue, loop, log)).toMatchObject({
    name: 'scheduling',
    queue: { depth: 2, active: 2, backoff: 0, unschedulable: 0 },
    reconciles: { total: 3, failed: 1, longestSeconds: 0.2 },
    decisions: [
      {
        key: { namespace, name: 'large' },
        result: 'requeued',
        writes: [],
        events: [{ reason: 'FailedScheduling', message: expect.stringContaining('Insufficient cpu') }],
      },
      {
        key: { namespace, name: 'web' },
        result: 'done',
        writes: [{ verb: 'create', resource: 'pods', subresource: 'binding' }],
        events: [{ reason: 'Scheduled', message: `Successfully assigned ${namespace}/web to a` }],
      },
    ],
  });
});
