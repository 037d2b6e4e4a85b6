import type { Container } from '@gantry/objects';
import { expect, it } from 'vitest';
import { validateRestartPolicy, validateStopSignal } from './containers.ts';

const rule = (change: object = {}) => ({ action: 'Restart', exitCodes: { operator: 'In', values: [42] }, ...change });
const RULES = 'spec.containers[0].restartPolicyRules';

interface Case {
  readonly why: string;
  readonly container: Partial<Container>;
  readonly kind?: 'init' | 'main';
  readonly errors: readonly string[];
}

const CASES: readonly Case[] = [
  { why: 'no policy', container: {}, errors: [] },
  { why: 'rules beside a policy', container: { restartPolicy: 'Never', restartPolicyRules: [rule()] }, errors: [] },
  {
    why: 'a restart of all containers',
    container: { restartPolicy: 'Never', restartPolicyRules: [rule({ action: 'RestartAllContainers' })] },
    errors: [],
  },
  { why: 'an unknown policy', container: { restartPolicy: 'No' }, errors: ['spec.containers[0].restartPolicy'] },
  {
    why: 'rules without a policy',
    container: { restartPolicyRules: [rule()] },
    errors: ['spec.containers[0].restartPolicy'],
  },
  {
    why: 'rules of a sidecar',
    container: { restartPolicy: 'Always', restartPolicyRules: [rule({ action: 'RestartAllContainers' }), rule()] },
    kind: 'init',
    errors: [],
  },
  {
    why: 'a wrong rule of a sidecar',
    container: { restartPolicy: 'Always', restartPolicyRules: [rule({ action: 'Stop' })] },
    kind: 'init',
    errors: [`${RULES}[0].action`],
  },
  {
    why: 'a wrong rule without a policy, of an init container',
    container: { restartPolicyRules: [rule({ action: 'Stop' })] },
    kind: 'init',
    errors: ['spec.containers[0].restartPolicy'],
  },
  {
    why: 'a wrong rule without a policy, of a main container',
    container: { restartPolicyRules: [rule({ action: 'Stop' })] },
    errors: ['spec.containers[0].restartPolicy', `${RULES}[0].action`],
  },
  {
    why: 'too many rules',
    container: { restartPolicy: 'Never', restartPolicyRules: Array.from({ length: 21 }, () => rule()) },
    errors: [RULES],
  },
  {
    why: 'an unknown action',
    container: { restartPolicy: 'Never', restartPolicyRules: [rule({ action: 'Stop' })] },
    errors: [`${RULES}[0].action`],
  },
  {
    why: 'a rule without exit codes',
    container: { restartPolicy: 'Never', restartPolicyRules: [{ action: 'Restart' }] },
    errors: [`${RULES}[0].exitCodes`],
  },
  {
    why: 'an unknown operator and too many exit codes',
    container: {
      restartPolicy: 'Never',
      restartPolicyRules: [rule({ exitCodes: { operator: 'Is', values: Array.from({ length: 256 }, (_, i) => i) } })],
    },
    errors: [`${RULES}[0].exitCodes.operator`, `${RULES}[0].exitCodes.values`],
  },
];

it.each(CASES)('the restart policy of a container: $why', ({ container, kind = 'main', errors }) => {
  const found = validateRestartPolicy({ name: 'c', ...container }, kind, 'spec.containers[0]');
  expect(found.map(({ field }) => field)).toEqual(errors);
});

const of = (signal: string | undefined, os?: string) =>
  validateStopSignal(signal, os === undefined ? {} : { os: { name: os } }, 'p').map(({ type }) => type);

it('a stop signal is one of those of the pod’s operating system, which must be said', () => {
  for (const signal of ['SIGTERM', 'SIGUSR1', 'SIGRTMIN', 'SIGRTMIN+15', 'SIGRTMAX-14'])
    expect(of(signal, 'linux')).toEqual([]);
  for (const signal of ['TERM', 'SIGNONE', 'SIGRTMIN+16', '15', ''])
    expect(of(signal, 'linux')).toEqual(['FieldValueNotSupported']);
  expect([of('SIGTERM', 'windows'), of('SIGUSR1', 'windows')]).toEqual([[], ['FieldValueNotSupported']]);
  expect([of('SIGTERM'), of(undefined)]).toEqual([['FieldValueForbidden'], []]);
});
