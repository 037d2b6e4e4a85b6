import { expect, it } from 'vitest';
import { pod } from '../testing/pods.ts';
import { maxRestartDelay, RESTART_DELAY_ANNOTATION } from './restart-delay.ts';

const of = (value: string) =>
  maxRestartDelay(pod({}, {}, { annotations: { [RESTART_DELAY_ANNOTATION]: value } }), 60_000);

it("a pod shortens the longest delay before a restart, and never lengthens the agent's", () => {
  expect(maxRestartDelay(pod(), 60_000)).toEqual({ ms: 60_000 });
  expect([of('1'), of('60'), of('300')]).toEqual([{ ms: 1_000 }, { ms: 60_000 }, { ms: 60_000 }]);
});

it.each(['0', '301', '-1', '1.5', '10s', ''])(
  'the value %j of the annotation does not count, and says why',
  (value) => {
    expect(of(value)).toEqual({
      ms: 60_000,
      fault: `annotation gantry.dev/max-restart-delay-seconds: ${JSON.stringify(value)} is not a whole number from 1 to 300`,
    });
  },
);
