import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readMachineStart } from './machine-start.ts';

test('the run of a machine is that of its kernel and of its first process', async () => {
  const proc = await mkdtemp(join(tmpdir(), 'gantry-proc-'));
  try {
    await mkdir(join(proc, 'sys/kernel/random'), { recursive: true });
    await mkdir(join(proc, '1'));
    await writeFile(join(proc, 'sys/kernel/random/boot_id'), '4e8a-1\n');
    // A program may choose any name.
    await writeFile(join(proc, '1/stat'), `1 (in) (it) S 0 1 1 0 -1 4194560 ${'0 '.repeat(12)}8475 1 2 3\n`);
    expect(await readMachineStart(proc)).toBe('4e8a-1.8475');
  } finally {
    await rm(proc, { recursive: true });
  }
});

test('it stays the same while the machine runs', async () => {
  expect(await readMachineStart()).toMatch(/^[\da-f-]{36}\.\d+$/);
  expect(await readMachineStart()).toBe(await readMachineStart());
});
