import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Checked } from './checked-run.ts';
import { COMPARED, formatComparison, readComparison } from './comparison.ts';
import { exampleResult } from './testing/example-run.ts';

test('what is compared is what both have', () => {
  const targets = new Set(COMPARED.kinds.flatMap((kind) => kind.targets));
  expect([...targets].toSorted()).toEqual(['apiserver/1', 'controller-manager/leader', 'etcd/1', 'scheduler/leader']);
  expect(COMPARED.kinds).toHaveLength(6);
  expect(COMPARED.workloads.map(({ name }) => name)).toEqual([
    'watchers',
    'counters',
    'finalizers',
    'quotas',
    'electors',
    'requests',
  ]);
});

const load = { requests: 100, failed: 0, repeated: 0, p50Ms: 3, longestGapMs: 40 };

function checked(more: Partial<Checked['result']>, p99Ms: number): Checked {
  const holds = { invariant: 'I1', title: '', unit: 'terms', checked: 3, violationCount: 0, violations: [] };
  const loads = [
    { ...load, during: 'calm', p99Ms },
    { ...load, during: 'faults', p99Ms: 10 * p99Ms },
  ];
  return {
    result: { ...exampleResult, ...more },
    verdict: { outcome: 'ok', problems: [], found: [], invariants: [holds], loads },
  } as unknown as Checked;
}

test('gaps stand beside each other, with the longest of each fault', () => {
  const round = (faults: string, longestGapMs: number) => ({ faults, longestGapMs });
  const ours = checked({ rounds: [round('kill etcd/1', 120), round('kill etcd/1', 340)] }, 12.4);
  const theirs = checked(
    { rounds: [round('kill etcd/1', 4_100), round('pause etcd/1', 9_000)], violations: ['I33: lost'] },
    9,
  );
  expect(formatComparison(ours, theirs).split('\n')).toEqual([
    '| | Gantry | Kubernetes |',
    '| --- | --- | --- |',
    '| faults | 1 | 1 |',
    '| requests acknowledged | 5 | 5 |',
    '| requests without a response | 0 | 0 |',
    '| longest time without an acknowledgement | 1.5 s | 1.5 s |',
    '| the same, of `kill etcd/1` | 0.3 s (2 times) | 4.1 s (once) |',
    '| the same, of `pause etcd/1` | not made | 9.0 s (once) |',
    '| p99 of requests at a rate, without and with faults | 12 ms, 124 ms | 9 ms, 90 ms |',
    '| invariants | 1 hold, 0 broken, 0 not checked | 1 hold, 0 broken, 0 not checked |',
    '| violations | 0 | 1 |',
    'Kubernetes: VIOLATION: I33: lost',
  ]);
});

/** A folder with `k8s`, which has the programs of Kubernetes. */
function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'chaos-compare-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, 'k8s'));
  for (const name of ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'])
    writeFileSync(join(folder, 'k8s', name), '', { mode: 0o755 });
  return folder;
}

test('the programs are in a folder, and the options are those of a campaign with what both have', () => {
  const folder = makeFolder();
  const read = (...args: string[]) => readComparison(args, COMPARED, folder, () => 0.5);
  const { programs, options } = read('k8s', '--duration', '1m', '--seed', '7', '--workload', 'counters', '--json');
  expect(programs).toBe(join(folder, 'k8s'));
  expect(options).toMatchObject({ durationMs: 60_000, seed: 7, output: 'json', kinds: COMPARED.kinds });
  expect(options.workloads.map(({ name }) => name)).toEqual(['counters']);
  expect(read(join(folder, 'k8s')).options.workloads).toBe(COMPARED.workloads);
});

test.each([
  [[], 'the folder of Kubernetes is missing'],
  [[''], 'the folder of Kubernetes is missing'],
  [['--duration', '1m', 'k8s'], 'the folder of Kubernetes is missing'],
  [['k8s', 'other'], "Unexpected argument 'other'"],
  [['k8s', '--bogus'], "Unknown option '--bogus'"],
  [['k8s', '--duration', 'long'], '--duration: long is no duration'],
  [['k8s', '--rate', '0'], '--rate: "0" is no whole number from 1 to 2000'],
  [['k8s', '--faults', 'cut'], '--faults: there is no cut'],
  [['k8s', '--workload', 'rollouts'], '--workload: there is no rollouts'],
  [['k8s', '--engine-restart', 'true'], '--engine-restart: there is no such fault here'],
  [['k8s', '--shrink'], '--shrink and --picture are options of one campaign, not of a comparison'],
  [['k8s', '--picture', 'p.svg'], '--shrink and --picture are options of one campaign, not of a comparison'],
  [['away'], 'away/kube-apiserver is no program'],
])('%j is refused', (args, message) => {
  const folder = makeFolder();
  expect(() => readComparison(args, COMPARED, folder, () => 0.5)).toThrow(message);
});

test('each of the programs must be there, and executable', () => {
  const folder = makeFolder();
  const read = () => readComparison(['k8s'], COMPARED, folder, () => 0.5);
  chmodSync(join(folder, 'k8s/kube-controller-manager'), 0o644);
  expect(read).toThrow('k8s/kube-controller-manager is no program');
  chmodSync(join(folder, 'k8s/kube-controller-manager'), 0o755);
  rmSync(join(folder, 'k8s/kube-scheduler'));
  expect(read).toThrow('k8s/kube-scheduler is no program');
});

test('the command says what is wrong and how it is called, or that there is no cluster, and ends with code 2', () => {
  const folder = makeFolder();
  const command = resolve(import.meta.dirname, '../commands/chaos-compare.ts');
  const options = ['--conditions=gantry-source', '--disable-warning=ExperimentalWarning', command];
  const env = { ...process.env, GANTRY_HOME: join(folder, 'home'), INIT_CWD: folder };
  const run = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [...options, ...args], { env, encoding: 'utf8' });
    return { status, stdout, stderr };
  };
  expect(run('--json')).toEqual({
    status: 2,
    stdout: '',
    stderr: expect.stringMatching(/^\ngantry: the folder of Kubernetes is missing\n +npm run chaos -- compare FOLDER /),
  });
  expect(run('k8s', '--json')).toEqual({
    status: 2,
    stdout: '',
    stderr: expect.stringContaining('gantry: no cluster was started'),
  });
});
