import { expect, it } from 'vitest';
import { findMetricFaults } from './find-metric-faults.ts';

const SOURCE = [
  "metrics.counter('requests_total', 'Requests');",
  'metrics.histogram(\n  `${PREFIX}_wait_seconds`,\n);',
  "const gauge = (name: string) => metrics.gauge(`${prefix}_${name}`);\ngauge('slices_wanted', 'Slices');",
  "const TABLE = [['objects', 'gantry_cache_objects']];",
].join('\n');
const ROWS = [
  '| metric | what |',
  '| `requests_total`, `flow_wait_seconds` | requests, and how long they waited |',
  '| `slice_controller_slices_wanted` | slices |',
  '| `gantry_cache_objects` | objects |',
];
const problems = (rows: readonly string[], source = SOURCE) =>
  findMetricFaults(rows.join('\n'), new Map([['a.ts', source]])).map(({ line, problem }) => `${line}: ${problem}`);

it('tables with all metrics of the code are right', () => {
  expect(problems(ROWS)).toEqual([]);
});

it.each(['requests_total', 'wait_seconds', 'slices_wanted', 'gantry_cache_objects'])(
  'they are wrong without %s',
  (name) => {
    const rows = ROWS.map((row) => row.replace(name, 'replaced'));
    expect(problems(rows)).toContain(`1: the metric ${name} of a.ts is in no table`);
  },
);

it('they are wrong with a metric that the code does not make', () => {
  expect(problems([...ROWS, '| `requests` | none |'])).toEqual(['5: no code makes the metric requests']);
});

it('only calls in files that make metrics count', () => {
  expect(problems(ROWS, `${SOURCE}\nhistogram('left_out', 'x');`)).toHaveLength(1);
  expect(findMetricFaults('', new Map([['b.ts', "histogram('left_out', 'x');"]]))).toEqual([]);
});
