import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { FAULT_KINDS } from '../faults/index.ts';
import { CELLS } from './cells.ts';
import { formatTable, nextCell, parseTrials, type Trial } from './table.ts';

const [first, second] = CELLS;
if (first === undefined || second === undefined) throw new TypeError('no cells');
const trialOf = ({ component, fault, act }: (typeof CELLS)[number], ms?: number): Trial => ({
  component,
  fault,
  act,
  ...(ms === undefined ? {} : { ms }),
  at: '2026-01-01T00:00:00.000Z',
  detail: '',
});

test('each cell has a fault that exists, and a name of its own', () => {
  const kinds = new Set(FAULT_KINDS.map(({ kind }) => kind));
  expect(CELLS.filter(({ kind }) => !kinds.has(kind))).toEqual([]);
  expect(new Set(CELLS.map(({ component, fault }) => `${component}: ${fault}`)).size).toBe(CELLS.length);
});

test('one of the cells with the fewest trials comes next, until all have enough', () => {
  const next = (trials: readonly Trial[], wanted: number, random = 0) =>
    nextCell([first, second], trials, wanted, () => random);
  expect([next([], 1), next([], 1, 0.99)]).toEqual([first, second]);
  expect([next([trialOf(first)], 2), next([trialOf(first)], 2, 0.99)]).toEqual([second, second]);
  expect(next([trialOf(second)], 2, 0.99)).toBe(first);
  expect(next([trialOf(first), trialOf(second)], 2)).toBe(first);
  expect(next([trialOf(first), trialOf(second)], 1)).toBeUndefined();
});

test('the table has the median, the 99th percentile and the longest, and an act that was not seen is the longest', () => {
  const times = Array.from({ length: 100 }, (_, index) => trialOf(first, (index + 1) * 10));
  expect(formatTable(times)).toContain(
    `| ${first.component} | ${first.fault} | a new pod is bound | 100 | 0.50 s | 0.99 s | 1.00 s |`,
  );
  expect(formatTable([trialOf(first, 10), trialOf(first)])).toContain('| 2 | 0.01 s | not seen | not seen |');
});

test("Kubernetes' trials stand beside ours, and where it has none the columns are empty", () => {
  const [, head, , row, other] =
    /^(.*)\n(.*)\n(.*)\n(.*)$/.exec(formatTable([trialOf(first, 10), trialOf(second, 20)], [trialOf(first, 30)])) ?? [];
  expect(head).toMatch(/\| max \| Kubernetes: trials \| .* Kubernetes: max \|$/);
  expect(row).toMatch(/\| 1 \| 0.01 s \| 0.01 s \| 0.01 s \| 1 \| 0.03 s \| 0.03 s \| 0.03 s \|$/);
  expect(other).toMatch(/\| 0.02 s \|  \|  \|  \|  \|$/);
});

test.each([
  ['{', 'trials.jsonl:1 is not JSON'],
  [JSON.stringify({ ...trialOf(first, 1), ms: -1 }), 'trials.jsonl:1: ms: '],
])('a file of trials with the line %s is refused', (line, message) => {
  expect(() => parseTrials(`${line}\n`, 'trials.jsonl')).toThrow(message);
});

test('trials are read as they were written', () => {
  const trials = [trialOf(first, 5), trialOf(second)];
  expect(parseTrials(trials.map((trial) => `${JSON.stringify(trial)}\n`).join(''), 'f')).toEqual(trials);
});

test('the command prints the table of a file without a cluster, and names the cells when none is chosen', () => {
  const folder = mkdtempSync(join(tmpdir(), 'failover-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const trial = trialOf(first, 10);
  writeFileSync(join(folder, 'trials.jsonl'), `${JSON.stringify(trial)}\n`);
  const command = resolve(import.meta.dirname, '../../commands/chaos-failover.ts');
  const options = ['--conditions=gantry-source', '--disable-warning=ExperimentalWarning', command];
  const env = { ...process.env, GANTRY_HOME: join(folder, 'home'), INIT_CWD: folder };
  const run = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [...options, ...args], { env, encoding: 'utf8' });
    return { status, stdout, stderr };
  };
  expect(run('--table', '--file', 'trials.jsonl')).toEqual({
    status: 0,
    stdout: `${formatTable([trial])}\n`,
    stderr: '',
  });
  const { status, stderr } = run('--only', 'one', '--only', 'two');
  expect(status).toBe(1);
  expect(stderr).toContain('gantry: --only: no cell contains "one" or "two"');
  expect(stderr).toContain(`${first.component}: ${first.fault}`);
});
