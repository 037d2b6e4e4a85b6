import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { linuxHostMeter } from './linux-host-meter.ts';

const MEMINFO = `MemTotal:       16000 kB
MemFree:          900 kB
MemAvailable:    9000 kB
Active(file):    5000 kB
Inactive(file):   100 kB
`;

async function proc(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'proc-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await mkdir(join(folder, 'sys', 'kernel'), { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  return folder;
}

const FILES = {
  meminfo: MEMINFO,
  loadavg: '0.10 0.20 0.30 2/345 6789\n',
  'sys/kernel/pid_max': '32768\n',
  'sys/kernel/threads-max': '4000\n',
};

it('memory is available but for the working set, and processes up to the lower bound', async () => {
  const folder = await proc(FILES);
  const { memory, processes, disk } = await linuxHostMeter(folder, folder).read();
  expect(memory).toEqual({ availableBytes: 1000 * 1024, capacityBytes: 16_000 * 1024 });
  expect(processes).toEqual({ available: 4000 - 345, capacity: 4000 });
  expect(disk.capacityBytes).toBeGreaterThan(disk.availableBytes);
});

it('the kernel of this machine has all numbers', async () => {
  const { memory, processes, disk } = await linuxHostMeter('/proc', tmpdir()).read();
  for (const { available, capacity } of [
    { available: memory.availableBytes, capacity: memory.capacityBytes },
    { available: disk.availableBytes, capacity: disk.capacityBytes },
    processes,
  ]) {
    expect(available).toBeGreaterThan(0);
    expect(capacity).toBeGreaterThan(available);
  }
});

it('a kernel without a number is an error that names it', async () => {
  const folder = await proc({ ...FILES, meminfo: 'MemTotal: 1 kB\n' });
  await expect(linuxHostMeter(folder, folder).read()).rejects.toThrow('MemFree');
});
