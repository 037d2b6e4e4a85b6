import { expect, it } from 'vitest';
import { findNameFaults } from './find-name-faults.ts';

const SOURCES = new Map([
  ['a.ts', "const LABEL = 'gantry.dev/engine'; const AUDIT = 'audit.gantry.dev/omitted';"],
  ['b.ts', "const POD = { cluster: 'gantry.cluster' }; const HOST = 'gantry.dev'; // as gantry.dev/other is"],
]);
const ROWS = [
  '| `gantry.dev/engine` | Node | the engine |',
  '| `audit.gantry.dev/omitted` | audit event | the rest |',
  '| `gantry.cluster` | container | the cluster |',
];
const problems = (rows: readonly string[]) =>
  findNameFaults(rows.join('\n'), SOURCES).map(({ line, problem }) => `${line}: ${problem}`);

it('a table with all names of the code is right', () => {
  expect(problems(ROWS)).toEqual([]);
});

it('it is wrong without a name, and with one that the code does not have', () => {
  expect(problems(ROWS.slice(1))).toEqual(['1: gantry.dev/engine of a.ts is not in the table of names']);
  expect(problems(ROWS.slice(0, 2))).toEqual(['1: gantry.cluster of b.ts is not in the table of names']);
  expect(problems([...ROWS, '| `gantry.dev/other` | Pod | none |'])).toEqual([
    '4: no code has the name gantry.dev/other',
  ]);
});
