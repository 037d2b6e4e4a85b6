import { expect, it } from 'vitest';
import { findTableFaults, labelsOf, metricsOf } from './table-faults.ts';

const METERS = [
  "metrics.counter('requests_total', 'Requests');",
  'metrics.histogram(\n  `${PREFIX}_wait_seconds`,\n);',
  "const gauge = (name: string) => metrics.gauge(`${prefix}_${name}`);\ngauge('slices_wanted', 'Slices');",
  "const TABLE = [['objects', 'gantry_cache_objects']];",
].join('\n');
const METRICS = [
  '| metric | what |',
  '| `requests_total`, `flow_wait_seconds` | requests, and how long they waited |',
  '| `slice_controller_slices_wanted` | slices |',
  '| `gantry_cache_objects` | objects |',
];
const metricFaults = (rows: readonly string[], code = METERS) =>
  findTableFaults(rows.join('\n'), new Map([['a.ts', metricsOf(code)]]));

it('tables with all metrics of the code are right', () => {
  expect(metricFaults(METRICS)).toEqual([]);
});

it.each(['requests_total', 'wait_seconds', 'slices_wanted', 'gantry_cache_objects'])(
  'they are wrong without %s',
  (name) => {
    const rows = METRICS.map((row) => row.replace(name, 'replaced'));
    expect(metricFaults(rows)).toContain(`${name} of a.ts is in no table`);
  },
);

it('they are wrong with a metric that the code does not make', () => {
  expect(metricFaults([...METRICS, '| `requests` | none |'])).toEqual(['no code has requests']);
});

it('only calls in files that make metrics count', () => {
  expect(metricFaults(METRICS, `${METERS}\nhistogram('left_out', 'x');`)).toHaveLength(1);
  expect(metricFaults([], "histogram('left_out', 'x');")).toEqual([]);
});

const CODE = `const LABEL = 'gantry.dev/engine'; const AUDIT = 'audit.gantry.dev/omitted';
  const POD = { cluster: 'gantry.cluster' }; const HOST = 'gantry.dev'; // as gantry.dev/other is`;
const LABELS = [
  '| `gantry.dev/engine` | Node, label | the engine |',
  '| `audit.gantry.dev/omitted` | audit event | the rest |',
  '| `gantry.cluster` | container | the cluster |',
];
const labelFaults = (rows: readonly string[]) => findTableFaults(rows.join('\n'), new Map([['a.ts', labelsOf(CODE)]]));

it('a table of labels has those of the code, and no others', () => {
  expect(labelFaults(LABELS)).toEqual([]);
  expect(labelFaults(LABELS.slice(1))).toEqual(['gantry.dev/engine of a.ts is in no table']);
  expect(labelFaults([...LABELS, '| `gantry.dev/other` | Pod | none |'])).toEqual(['no code has gantry.dev/other']);
});
