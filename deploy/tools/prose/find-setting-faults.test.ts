import { expect, it } from 'vitest';
import { findSettingFaults } from './find-setting-faults.ts';

const CONFIGS = new Map([
  [
    'dns',
    "text('GANTRY_TLS_DIR', '/tls'), new ConfigError('GANTRY_TLS_DIR', 'is bad'), oneOf('GANTRY_LOG_LEVEL', LOG_LEVELS, 'info')",
  ],
  ['agent', "integer('GANTRY_LEASE_MS', { min: 1, max: 60_000 }, 2_000), oneOf('GANTRY_LOG_LEVEL', LEVELS, 'info')"],
]);
const ROWS = [
  '| `GANTRY_TLS_DIR` | all but agent | `/tls` | the certificate |',
  '| `GANTRY_LEASE_MS` | agent | 2000 | how long |',
  '| `GANTRY_LOG_LEVEL` | all | `info` | how much |',
];
const problems = (rows: readonly string[], configs: ReadonlyMap<string, string> = CONFIGS) =>
  findSettingFaults(rows.join('\n'), configs).map(({ line, problem }) => `${line}: ${problem}`);

it('a table that says what the services read is right', () => {
  expect(problems(ROWS)).toEqual([]);
});

it.each<[string, readonly string[], readonly string[]]>([
  ['a variable is missing', ROWS.slice(1), ['1: GANTRY_TLS_DIR of dns is not in the table']],
  [
    'a service is missing',
    [...ROWS.slice(0, 2), '| `GANTRY_LOG_LEVEL` | dns | `info` | a |'],
    ['3: GANTRY_LOG_LEVEL is read by agent, too'],
  ],
  [
    'a service does not read it',
    ['| `GANTRY_TLS_DIR` | dns, agent | `/tls` | a |', ...ROWS.slice(1)],
    ['1: GANTRY_TLS_DIR is not read by agent'],
  ],
  [
    'a default is another one',
    [ROWS[0] ?? '', '| `GANTRY_LEASE_MS` | agent | 3000 | a |', ROWS[2] ?? ''],
    ["2: agent's default of GANTRY_LEASE_MS is 2000"],
  ],
])('it is wrong where %s', (_, rows, expected) => {
  expect(problems(rows)).toEqual(expected);
});

it('a default may have a bar and stand in a list', () => {
  const configs = new Map([['a', "text('GANTRY_A', 'x<1|2'), list('GANTRY_B', ['c'])"]]);
  expect(problems(['| `GANTRY_A` | a | `x<1\\|2` | m |', '| `GANTRY_B` | a | `c` | m |'], configs)).toEqual([]);
  expect(problems(['| `GANTRY_A` | a | `x<1` | m |', '| `GANTRY_B` | a | `d` | m |'], configs)).toHaveLength(2);
});
