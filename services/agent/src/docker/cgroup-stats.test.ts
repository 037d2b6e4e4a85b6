import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { groupReader } from './cgroup-stats.ts';

const ID = 'ab'.repeat(32);
const OTHER = 'cd'.repeat(32);
const NUMBERS = { cpuNanos: 7_000_000, memoryBytes: 3000 };

async function folderWith(files: Readonly<Record<string, string>>): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'cgroup-'));
  onTestFinished(() => rm(root, { recursive: true }));
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), content);
  }
  return root;
}

const unified = (folder: string) => ({
  [`${folder}/cpu.stat`]: 'usage_usec 7000\nuser_usec 5000\nsystem_usec 2000\n',
  [`${folder}/memory.current`]: '5000\n',
  [`${folder}/memory.stat`]: 'anon 2000\ninactive_anon 1\ninactive_file 2000\n',
});
const legacy = (folder: string) => ({
  [`cpuacct/${folder}/cpuacct.usage`]: '7000000\n',
  [`memory/${folder}/memory.usage_in_bytes`]: '5000\n',
  [`memory/${folder}/memory.stat`]: 'inactive_file 1\ntotal_inactive_file 2000\n',
});

it.each([
  ['version 2, cgroupfs', unified(`docker/${ID}`)],
  ['version 2, systemd', unified(`system.slice/docker-${ID}.scope`)],
  ['version 1, cgroupfs', legacy(`docker/${ID}`)],
  ['version 1, systemd', legacy(`system.slice/docker-${ID}.scope`)],
])('finds a container among the groups of %s, and misses others', async (_name, files) => {
  const { read } = groupReader(await folderWith(files));
  expect(await read(OTHER)).toBe('unknown');
  expect(await read(ID)).toEqual(NUMBERS);
  expect(await read(OTHER)).toBe('gone');
});

it.each([
  ['version 2', { ...unified(`docker/${ID}`), [`docker/${ID}/pids.current`]: '12\n' }],
  ['version 1', { ...legacy(`docker/${ID}`), [`pids/docker/${ID}/pids.current`]: '12\n' }],
])('counts processes where %s does', async (_name, files) => {
  expect(await groupReader(await folderWith(files)).read(ID)).toEqual({ ...NUMBERS, processes: 12 });
});

it('leaves a working set that files alone make at 0', async () => {
  const files = { ...unified(`docker/${ID}`), [`docker/${ID}/memory.current`]: '1000\n' };
  expect(await groupReader(await folderWith(files)).read(ID)).toEqual({ ...NUMBERS, memoryBytes: 0 });
});

it('takes a group that is not as the kernel writes it for none', async () => {
  const files = { ...unified(`docker/${ID}`), [`docker/${ID}/memory.current`]: 'max\n' };
  expect(await groupReader(await folderWith(files)).read(ID)).toBe('unknown');
});

it('looks for nothing but ids of containers', async () => {
  const root = await folderWith(unified('docker/../secret'));
  expect(await groupReader(root).read('../secret')).toBe('gone');
});

it.each([
  ['version 2', { 'cgroup.controllers': 'cpu memory' }, true],
  ['version 1', { 'memory/tasks': '1' }, true],
  ['none', { other: '' }, false],
])('says whether there are control groups: %s', async (_, files, expected) => {
  expect(await groupReader(await folderWith(files)).hasGroups()).toBe(expected);
});
