import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
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
  for (const path of [['sys', 'kernel'], ['self']]) await mkdir(join(folder, ...path), { recursive: true });
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

it('names the devices of disks, and the one that has a folder', async () => {
  const { dev } = await stat(tmpdir());
  const number = `${(dev >> 8) & 0xfff}:${dev & 0xff}`;
  const diskstats = `   8       0 sda 1 2 3\n 259       1 nvme0n1p1 1 2 3\n   ${number.replace(':', '       ')} own 1 2 3\n`;
  const mounts = (...sources: readonly string[]) =>
    ['1 0 0:1 / /proc rw - proc proc rw', ...sources.map((source) => `2 1 ${number} / / rw - ext4 ${source} rw`)].join(
      '\n',
    );
  const devicesOf = async (mountinfo: string, disks = diskstats) => {
    const folder = await proc({ diskstats: disks, 'self/mountinfo': mountinfo });
    return await linuxHostMeter(folder, tmpdir()).readDevices();
  };
  const { names, files } = await devicesOf(mounts('/dev/old', '/dev/disk1'));
  expect([names.get('8:0'), names.get('259:1'), files]).toEqual(['/dev/sda', '/dev/nvme0n1p1', '/dev/disk1']);
  expect((await devicesOf(mounts())).files).toBe('/dev/own');
  expect((await devicesOf(mounts(), '')).files).toBe(number);
});
