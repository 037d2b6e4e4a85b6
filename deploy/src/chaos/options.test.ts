import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { seededRandom } from '@gantry/base';
import { expect, onTestFinished, test } from 'vitest';
import { CommandError } from '../machine/command-error.ts';
import { NO_CONSENT } from './faults/engine-restart.ts';
import { NO_LOSS } from './faults/snapshot-restore.ts';
import { FAULT_KINDS } from './faults/index.ts';
import { readOptions } from './options.ts';
import { formatPlan } from './plan-file.ts';
import { planCampaign } from './plan.ts';
import { WORKLOADS } from './workloads/index.ts';

const impossible = new Map([
  ['delay', 'no netem'],
  ['electors', 'no program'],
  ['engine-restart', NO_CONSENT],
  ['snapshot-restored', NO_LOSS],
]);
const workloads = WORKLOADS.filter(({ name }) => name !== 'electors');
const choices = { kinds: FAULT_KINDS, impossible, workloads };
const read = (...args: string[]) => readOptions(args, choices, '/', () => 0.5);

test('without options, five minutes of all faults and workloads, with a seed that is chosen', () => {
  const options = read();
  expect(options).toMatchObject({
    durationMs: 300_000,
    calmMs: 75_000,
    undisturbedMs: 20_000,
    beforeMs: 3_000,
    rate: 10,
    intensity: 2,
    output: 'lines',
    plan: undefined,
  });
  expect(options.kinds).toEqual(FAULT_KINDS);
  expect(options.workloads).toEqual(workloads);
  expect(options.seed).toBe(Math.floor((2 ** 32 - 1) / 2));
  expect(options.text['seed']).toBe(options.seed);
  expect(options.text).not.toHaveProperty('bounds');
});

test('options choose kinds, workloads, the time and the seed', () => {
  const options = read(
    '--faults',
    'kill,pause',
    '--workload',
    'counters',
    '--duration',
    '90s',
    '--seed',
    '7',
    '--json',
  );
  expect(options.kinds.map(({ kind }) => kind)).toEqual(['kill', 'pause']);
  expect(options.workloads.map(({ name }) => name)).toEqual(['counters']);
  expect(options).toMatchObject({ durationMs: 90_000, seed: 7, output: 'json' });
});

test('the checker reads the bound for takeovers in the options of the run', () => {
  expect(read('--takeover', '1m').text['bounds']).toEqual({ takeoverMs: 60_000 });
});

test('a run is replayed with its seed, its workloads and its schedule', () => {
  const folder = mkdtempSync(join(tmpdir(), 'chaos-run-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const plan = planCampaign({ shapes: FAULT_KINDS, durationMs: 60_000, intensity: 1 }, seededRandom(5));
  writeFileSync(join(folder, 'plan.json'), formatPlan(plan));
  writeFileSync(join(folder, 'run.json'), JSON.stringify({ seed: 5, options: { workload: 'counters', rate: '500' } }));
  const options = readOptions(['--replay', folder], choices, '/', () => 0.5);
  expect(options).toMatchObject({ seed: 5, plan, rate: 500 });
  expect(options.workloads.map(({ name }) => name)).toEqual(['counters']);
  expect(() => read('--replay', folder, '--seed', '6')).toThrow('--replay takes the seed');
  writeFileSync(join(folder, 'run.json'), '{"seed":"five"}');
  expect(() => read('--replay', folder)).toThrow('run.json: seed');
});

test('--each makes a schedule of each kind once, one after the other', () => {
  const { plan } = read('--each', '--faults', 'kill,cut,etcd-full', '--seed', '7');
  expect(plan?.map(({ kind, round, atMs }) => ({ kind, round, atMs }))).toEqual(
    ['kill', 'cut', 'etcd-full'].map((kind, round) => ({ kind, round, atMs: 0 })),
  );
  expect(read('--each', '--faults', 'kill,cut,etcd-full', '--seed', '7').plan).toEqual(plan);
});

test('the engine is restarted only with the command for it, which makes the fault one of all', () => {
  expect(() => read('--faults', 'engine-restart')).toThrow('stops every container of the Docker Engine');
  const { kinds, text } = read('--engine-restart', 'systemctl restart docker');
  expect(kinds.map(({ kind }) => kind)).toEqual([...FAULT_KINDS.map(({ kind }) => kind), 'engine-restart']);
  expect(text['engine-restart']).toBe('systemctl restart docker');
});

test('a snapshot is restored only with consent, under workloads that know what is lost', () => {
  const asked = ['--faults', 'snapshot-restored', '--workload', 'watchers,counters,quotas'];
  expect(() => read(...asked)).toThrow('is lost. Allow it with --lose-writes');
  expect(read(...asked, '--lose-writes').kinds.map(({ kind }) => kind)).toEqual(['snapshot-restored']);
  expect(() => read('--lose-writes', '--workload', 'counters,jobs,requests')).toThrow(
    '--workload: jobs,requests cannot tell which of their writes the restore of a snapshot loses',
  );
  expect(read('--lose-writes', '--faults', 'kill').workloads).toEqual(workloads);
});

test.each([
  [['--engine-restart', ' '], '--engine-restart: the command is empty'],
  [['--each', '--plan', '/dev/null'], '--each makes a schedule itself'],
  [['--faults', 'flood'], '--faults: there is no flood'],
  [['--faults', 'delay'], '--faults: delay is not possible here: no netem'],
  [['--workload', 'nothing'], '--workload: there is no nothing'],
  [['--workload', 'counters, electors'], '--workload: electors is not possible here: no program'],
  [['--duration', 'soon'], '--duration'],
  [['--duration', '0s'], '--duration'],
  [['--calm', 'x'], '--calm: x is no duration'],
  [['--undisturbed', 'never'], '--undisturbed: never is no duration'],
  [['--rate', '0'], '--rate: "0" is no whole number from 1 to 2000'],
  [['--before', 'soon'], '--before: soon is no duration'],
  [['--takeover', 'soon'], '--takeover: soon is no duration'],
  [['--intensity', '0'], '--intensity: "0" is no whole number from 1 to 10'],
  [['--seed', '-1'], '--seed'],
  [['--seed=1.5'], '--seed'],
  [['--plan', '/does/not/exist'], '--plan'],
  [['--replay', '/does/not/exist'], '--replay'],
  [['--unknown'], "Unknown option '--unknown'"],
])('%s is refused', (args, message) => {
  expect(() => read(...args)).toThrow(CommandError);
  expect(() => read(...args)).toThrow(message);
});

test('workloads may be none', () => {
  expect(read('--workload', 'none').workloads).toEqual([]);
});
