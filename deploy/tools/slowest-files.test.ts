import { expect, it } from 'vitest';
import { slowestFiles } from './slowest-files.ts';

const file = (name: string, seconds: number) => ({ name, startTime: 1000, endTime: 1000 + seconds * 1000 });

it('names the files that took longest, below the root, the longest first', () => {
  const files = [file('/root/a.test.ts', 7.4), file('/root/b.test.ts', 81), file('/other/c.test.ts', 20)];
  expect(slowestFiles(files, '/root', 2)).toEqual(['    81 s  b.test.ts', '    20 s  /other/c.test.ts']);
});

it('names equal ones in the order of their names, and none that is quick', () => {
  const files = [file('/root/b.test.ts', 5), file('/root/a.test.ts', 5), file('/root/quick.test.ts', 1)];
  expect(slowestFiles(files, '/root', 10)).toEqual(['     5 s  a.test.ts', '     5 s  b.test.ts']);
});

it('has no line for a run without tests', () => {
  expect(slowestFiles([], '/root', 10)).toEqual([]);
});
