import { expect, it } from 'vitest';
import { exited, NOW, pod, podState, sandbox } from '../testing/pods.ts';
import { interpretEnds } from './interpret-ends.ts';

const dead = sandbox({ state: 'exited', finishedAt: NOW });

it.each([
  {
    name: 'that left together with its sandbox was killed',
    box: dead,
    finishedAt: NOW - 1_000,
    phase: 'Running',
    exitCode: 137,
  },
  {
    name: 'that was stopped after its sandbox was killed',
    box: dead,
    finishedAt: NOW + 20_000,
    phase: 'Running',
    exitCode: 137,
  },
  { name: 'that had long succeeded has succeeded', box: dead, finishedAt: NOW - 60_000, phase: 'Running', exitCode: 0 },
  { name: 'in a living sandbox has succeeded', box: sandbox(), finishedAt: NOW - 1_000, phase: 'Running', exitCode: 0 },
  {
    name: 'of a pod that had succeeded has succeeded',
    box: dead,
    finishedAt: NOW - 1_000,
    phase: 'Succeeded',
    exitCode: 0,
  },
])('a container $name', ({ box, finishedAt, phase, exitCode }) => {
  const state = podState([box], [exited(0, { finishedAt })]);
  expect(interpretEnds(pod({ restartPolicy: 'Never' }, { phase }), state)?.containers[0]?.exitCode).toBe(exitCode);
});
