import { expect, test } from 'vitest';
import { CommandError } from '../../machine/command-error.ts';
import { FAULT_KINDS } from '../faults/index.ts';
import { WORKLOADS } from '../workloads/index.ts';
import { CHAOS_RUNS } from './kinds.ts';
import { optionsOf } from './run-options.ts';

interface Schema {
  readonly type: string;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly [bound: string]: unknown;
}

const choices = { kinds: FAULT_KINDS, impossible: new Map([['delay', 'no netem']]), workloads: WORKLOADS };
/** With the defaults that the API server sets. */
const spec = { duration: '1m', intensity: 2, settle: '10m', calm: '5s', undisturbed: 'none' };
const fault = { kind: 'kill', target: 'scheduler/leader', round: 0, atMs: 0, durationMs: 0, choice: 0.5 };
const read = (more: object) => optionsOf({ ...spec, ...more }, choices, () => 0.5);

test('a run without choices is of all faults and workloads, with a seed that is chosen', () => {
  expect(read({})).toMatchObject({ kinds: FAULT_KINDS, workloads: WORKLOADS, durationMs: 60_000, undisturbedMs: 0 });
  expect(read({}).seed).toBe(Math.floor((2 ** 32 - 1) / 2));
  expect(read({ seed: 0 }).seed).toBe(0);
});

test('an empty list of workloads is none, and the run can be replayed so', () => {
  const options = read({ workloads: [] });
  expect(options.workloads).toEqual([]);
  expect(options.text['workload']).toBe('none');
});

test('each list, text and number of a spec is bounded by the schema', () => {
  const unbounded: string[] = [];
  const look = (path: string, { type, items, properties = {}, ...bounds }: Schema): void => {
    const limit = { array: 'maxItems', string: 'maxLength', integer: 'maximum', number: 'maximum' }[type];
    if (limit !== undefined && bounds[limit] === undefined) unbounded.push(path);
    if (items !== undefined) look(`${path}[]`, items);
    for (const [name, field] of Object.entries(properties)) look(`${path}.${name}`, field);
  };
  const [version] = CHAOS_RUNS.definition.spec.versions;
  const { spec } = (version?.schema?.openAPIV3Schema as unknown as Schema).properties ?? {};
  if (spec === undefined) throw new Error('the schema has no spec');
  look('spec', spec);
  expect(unbounded).toEqual([]);
});

test('a plan is run to its end, with ids that are given', () => {
  const cut = { ...fault, kind: 'cut', peer: 'etcd', durationMs: 5_000, round: 1 };
  expect(read({ plan: [fault, cut] }).plan).toEqual([
    { id: 'f1', ...fault },
    { id: 'f2', ...cut },
  ]);
});

test.each([
  [{ faults: ['nothing'] }, 'spec.faults: there is no nothing'],
  [{ faults: ['kill,pause'] }, 'spec.faults: there is no kill,pause'],
  [{ faults: [] }, 'spec.faults: is empty'],
  [{ faults: ['delay'] }, 'spec.faults: delay is not possible here: no netem'],
  [{ workloads: ['x'] }, 'spec.workloads: there is no x'],
  [{ workloads: ['none,counters'] }, 'spec.workloads: there is no none,counters'],
  [{ duration: 'long' }, 'spec.duration: long is no duration such as 90s, 5m or 1h'],
  [{ duration: '2h' }, 'spec.duration: at most 1h'],
  [{ intensity: 11 }, 'spec.intensity: "11" is no whole number from 1 to 10'],
  [{ calm: '--shrink' }, 'spec.calm'],
  [{ undisturbed: '90m' }, 'spec.undisturbed: at most 1h'],
  [{ plan: [fault, { ...fault, kind: 'x' }] }, 'spec.plan[1].kind: there is no x'],
  [{ plan: [{ ...fault, target: 'postgres' }] }, 'spec.plan[0].target: kill has the targets'],
  [
    { plan: [0, 1].map((round) => ({ ...fault, round, durationMs: 1_800_001 })) },
    'spec.plan: the rounds take more than 1h',
  ],
  [{ faults: ['__proto__'] }, 'spec.faults: there is no __proto__'],
  [{ faults: Array.from({ length: 100 }, (_, i) => `x${i}`) }, 'spec.faults: there is no x0, x1'],
  [{ duration: '9999999999999h' }, 'spec.duration: 9999999999999h is no duration'],
  [{ plan: [{ ...fault, kind: 'constructor' }] }, 'spec.plan[0].kind: there is no constructor'],
  [{ plan: [{ ...fault, kind: 'cut' }] }, 'spec.plan[0].peer: cut of scheduler/leader has the peers'],
])('%j is refused, and the message names the field', (more, message) => {
  expect(() => read(more)).toThrow(CommandError);
  expect(() => read(more)).toThrow(message);
});
