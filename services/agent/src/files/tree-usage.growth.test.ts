import { closeSync, linkSync, mkdirSync, mkdtempSync, openSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type GrowingInput, MAX_EXCESS, measureGrowth } from '@gantry/base/testing';
import { afterAll, expect, it } from 'vitest';
import { removeNested } from './testing/nested-folders.ts';
import { treeUsage } from './tree-usage.ts';

const { signal } = new AbortController();
const base = mkdtempSync(join(tmpdir(), 'gantry-growth-'));
afterAll(() => removeNested(base), 120_000);

const TREES: Readonly<Record<string, (folder: string, size: number) => void>> = {
  'nested folders': (folder, size) => {
    let fd = openSync(folder, 'r');
    for (let level = 0; level < size; level++) {
      const path = `/proc/self/fd/${fd}/d`;
      mkdirSync(path);
      const next = openSync(path, 'r');
      closeSync(fd);
      fd = next;
    }
    closeSync(fd);
  },
  'folders side by side': (folder, size) => {
    for (let made = 0; made < size; made++) mkdirSync(join(folder, `${made}`));
  },
  'names of one file': (folder, size) => {
    writeFileSync(join(folder, 'file'), '');
    for (let made = 0; made < size; made++) linkSync(join(folder, 'file'), join(folder, `${made}`));
  },
  files: (folder, size) => {
    for (let made = 0; made < size; made++) writeFileSync(join(folder, `${made}`), '');
  },
};

const INPUTS: readonly GrowingInput[] = Object.entries(TREES).map(([shape, make]) => ({
  name: `the usage of a volume: ${shape}`,
  largest: 4_000,
  prepare: (size) => {
    const folder = mkdtempSync(join(base, 'volume-'));
    make(folder, size);
    return () => treeUsage(folder, signal);
  },
}));

it.each(INPUTS)('$name: linear time', async (input) => {
  const { report, excess } = await measureGrowth(input);
  process.stdout.write(report);
  expect(excess).toBeLessThan(MAX_EXCESS);
});
