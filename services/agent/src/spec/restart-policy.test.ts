import type { Container } from '@gantry/objects';
import { expect, it } from 'vitest';
import { container, pod } from '../testing/pods.ts';
import type { ContainerRole } from './pod-containers.ts';
import { shouldRestart, maxRestartDelay, RESTART_DELAY_ANNOTATION } from './restart-policy.ts';

const of = (value: string) =>
  maxRestartDelay(pod({}, {}, { annotations: { [RESTART_DELAY_ANNOTATION]: value } }), 60_000);
const rules = (action: string, operator: string, ...values: number[]): Partial<Container> => ({
  restartPolicy: 'Never',
  restartPolicyRules: [{ action, exitCodes: { operator, values } }],
});

interface Case {
  readonly why: string;
  readonly policy: string;
  readonly own?: Partial<Container>;
  readonly role?: ContainerRole;
  /** Of the exit codes 0, 1 and 42, those after which the container is restarted. */
  readonly restarts: readonly number[];
}

const CASES: readonly Case[] = [
  { why: 'Always', policy: 'Always', restarts: [0, 1, 42] },
  { why: 'OnFailure', policy: 'OnFailure', restarts: [1, 42] },
  { why: 'Never', policy: 'Never', restarts: [] },
  { why: "its own policy before the pod's", policy: 'Always', own: { restartPolicy: 'Never' }, restarts: [] },
  { why: 'its own Always', policy: 'Never', own: { restartPolicy: 'Always' }, restarts: [0, 1, 42] },
  { why: 'its own OnFailure', policy: 'Never', own: { restartPolicy: 'OnFailure' }, restarts: [1, 42] },
  { why: 'a rule on one exit code', policy: 'Always', own: rules('Restart', 'In', 42), restarts: [42] },
  { why: 'a rule on all other exit codes', policy: 'Never', own: rules('Restart', 'NotIn', 42), restarts: [0, 1] },
  {
    why: 'no rules without a policy of its own',
    policy: 'Never',
    own: { restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [1] } }] },
    restarts: [],
  },
  {
    why: 'its policy where no rule matches',
    policy: 'Never',
    own: { ...rules('Restart', 'In', 0), restartPolicy: 'OnFailure' },
    restarts: [0, 1, 42],
  },
  { why: 'an init container until it succeeds', policy: 'Always', role: 'init', restarts: [1, 42] },
  {
    why: 'an init container of its own policy',
    policy: 'Always',
    own: { restartPolicy: 'Never' },
    role: 'init',
    restarts: [],
  },
  { why: 'a sidecar always', policy: 'Never', own: { restartPolicy: 'Always' }, role: 'sidecar', restarts: [0, 1, 42] },
];

it.each(CASES)('restarts follow $why', ({ policy, own = {}, role = 'main', restarts }) => {
  const item = { role, container: container('main', own) };
  const codes = [0, 1, 42].filter((exitCode) => shouldRestart(pod({ restartPolicy: policy }), item, exitCode));
  expect(codes).toEqual(restarts);
});

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
