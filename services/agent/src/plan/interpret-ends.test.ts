import { expect, it } from 'vitest';
import { container, exited, NOW, pod, podState, reportedStatus, running, sandbox } from '../testing/pods.ts';
import { interpretEnds, killedIn } from './interpret-ends.ts';

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
  expect(interpretEnds(pod({ restartPolicy: 'Never' }, { phase }), state, new Set())?.containers[0]?.exitCode).toBe(
    exitCode,
  );
});

it.each([
  { name: 'beside main containers has succeeded', of: 'sandbox-0', exitCode: 0 },
  { name: 'in a sandbox without main containers has failed', of: 'sandbox-1', exitCode: 143 },
])('an init container $name', ({ of, exitCode }) => {
  const boxes = [sandbox({ id: 'sandbox-1', attempt: 1 }), sandbox()];
  const init = exited(143, { name: 'init', sandboxId: of });
  const started = pod({ restartPolicy: 'Never', initContainers: [container('init')] });
  expect(interpretEnds(started, podState(boxes, [running(), init]), new Set())?.containers[1]?.exitCode).toBe(exitCode);
});

it('a container that was killed with its sandbox stays so when that is gone', () => {
  const object = pod({ restartPolicy: 'OnFailure' });
  const before = podState([dead], [exited(0)]);
  const seen = interpretEnds(object, before, new Set());
  const killed = new Set(killedIn(before, seen));
  expect([...killed]).toEqual(['main-0']);
  const after = podState([sandbox({ id: 'sandbox-1', attempt: 1 })], [exited(0)]);
  const codeOf = (known: ReadonlySet<string>, change = {}) =>
    interpretEnds({ ...object, status: { containerStatuses: [reportedStatus(change)] } }, after, known)?.containers[0]
      ?.exitCode;
  expect(codeOf(killed)).toBe(137);
  // The next agent finds it in the status.
  const end = (exitCode: number, id = 'main-0') => ({ terminated: { exitCode, containerID: `docker://${id}` } });
  expect(codeOf(new Set(), { state: end(137) })).toBe(137);
  expect(codeOf(new Set(), { lastState: end(137) })).toBe(137);
  expect(codeOf(new Set(), { state: end(0) })).toBe(0);
  expect(codeOf(new Set(), { state: end(137, 'another') })).toBe(0);
});
