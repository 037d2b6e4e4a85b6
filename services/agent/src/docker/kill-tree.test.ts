import { expect, it } from 'vitest';
import { processTree, readStat } from './kill-tree.ts';

it.each([
  ['1234 (sh) S 1200 1234 1234 0 -1', { pid: 1234, parent: 1200, session: 1234 }],
  ['12 (a) b) (c) R 1 12 11 0 -1', { pid: 12, parent: 1, session: 11 }],
  ['12 (sh) Z 1 12 12 0 -1', undefined],
  ['12 (sh) X 1 12 12 0 -1', undefined],
  ['', undefined],
])('a process is read from %j', (text, entry) => {
  expect(readStat(text)).toEqual(entry);
});

it.each([
  [
    'children and their children',
    [
      [10, 1, 10],
      [11, 10, 10],
      [12, 11, 12],
      [13, 1, 13],
    ],
    [10, 11, 12],
  ],
  [
    'those whose parent has ended',
    [
      [10, 1, 10],
      [11, 1, 10],
      [12, 11, 12],
    ],
    [10, 11, 12],
  ],
  [
    'those that are left after the first has ended',
    [
      [11, 1, 10],
      [13, 1, 13],
    ],
    [11],
  ],
  [
    'nothing, when nothing is left',
    [
      [1, 0, 1],
      [13, 1, 13],
    ],
    [],
  ],
])('the tree of process 10 has %s', (_what, rows, expected) => {
  const processes = rows.map(([pid = 0, parent = 0, session = 0]) => ({ pid, parent, session }));
  expect([...processTree(processes, 10)].sort((a, b) => a - b)).toEqual(expected);
});
