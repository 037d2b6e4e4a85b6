import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { groupReader } from './cgroup-stats.ts';

const ID = 'ab'.repeat(32);
const OTHER = 'cd'.repeat(32);
const NUMBERS = { cpuNanos: 7_000_000, memoryBytes: 3000, memoryUsageBytes: 5000 };

async function folderWith(files: Readonly<Record<string, string>>): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'cgroup-'));
  onTestFinished(() => rm(root, { recursive: true }));
  await fill(root, files);
  return root;
}

async function fill(root: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), content);
  }
}

const unified = (folder: string, cpuMicros = 7000) => ({
  [`${folder}/cpu.stat`]: `usage_usec ${cpuMicros}\nuser_usec 5000\nsystem_usec 2000\n`,
  [`${folder}/memory.current`]: '5000\n',
  [`${folder}/memory.stat`]: 'anon 2000\ninactive_anon 1\ninactive_file 2000\n',
});
const legacy = (folder: string, cpuMicros = 7000) => ({
  [`cpuacct/${folder}/cpuacct.usage`]: `${cpuMicros * 1000}\n`,
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

const IN_POD = `docker/gantry-0123456789ab-pod1a/${ID}`;

it.each([
  ['version 2', unified(IN_POD), unified(`docker/${OTHER}`), `${IN_POD}/cgroup.procs`],
  ['version 1', legacy(IN_POD), legacy(`docker/${OTHER}`), `cpuacct/${IN_POD}/cgroup.procs`],
])(
  'finds a container in the group of its pod, before and after others: %s',
  async (_name, inPod, beside, processes) => {
    const files = { ...inPod, ...beside, [processes]: '7\n' };
    for (const first of [ID, OTHER]) {
      const groups = groupReader(await folderWith(files));
      expect(await groups.read(first)).toEqual(NUMBERS);
      for (const id of [ID, OTHER, ID]) expect(await groups.read(id)).toEqual(NUMBERS);
      expect(await groups.processesOf(ID)).toEqual([7]);
    }
    const root = await folderWith(inPod);
    expect(await groupReader(root).read(ID)).toEqual(NUMBERS);
    expect(await groupReader(root).read(OTHER)).toBe('unknown');
  },
);

it('misses a container of a pod that has gone, and finds it when it is elsewhere', async () => {
  const root = await folderWith(unified(IN_POD));
  const groups = groupReader(root);
  expect(await groups.read(ID)).toEqual(NUMBERS);
  await rm(join(root, IN_POD), { recursive: true });
  expect(await groups.read(ID)).toBe('gone');
  await fill(root, unified(`docker/${ID}`));
  expect(await groups.read(ID)).toEqual(NUMBERS);
});

it.each([
  ['version 2', unified, 'docker'],
  ['version 1', legacy, 'cpuacct/docker'],
])('remembers no place of a container that has ended once another one has begun: %s', async (_name, files, group) => {
  const pod = 'docker/gantry-0123456789ab-pod1a';
  const root = await folderWith({ ...files(`${pod}/${ID}`), ...files(`${pod}/${OTHER}`) });
  const { read } = groupReader(root);
  expect(await read(ID)).toEqual(NUMBERS);
  const ended = join(root, group, 'gantry-0123456789ab-pod1a', ID);
  await rename(ended, `${ended}-ended`);
  expect(await read(OTHER)).toEqual(NUMBERS);
  // A reader that remembers the place looks there first.
  await rename(`${ended}-ended`, ended);
  await fill(root, files(`docker/${ID}`, 9000));
  expect(await read(ID)).toMatchObject({ cpuNanos: 9_000_000 });
  await fill(root, files(`${pod}/${OTHER}`, 8000));
  await fill(root, files(`docker/${OTHER}`, 9000));
  expect(await read(OTHER)).toMatchObject({ cpuNanos: 8_000_000 });
});

it.each([
  ['version 2', { ...unified(`docker/${ID}`), [`docker/${ID}/pids.current`]: '12\n' }],
  ['version 1', { ...legacy(`docker/${ID}`), [`pids/docker/${ID}/pids.current`]: '12\n' }],
])('counts processes where %s does', async (_name, files) => {
  expect(await groupReader(await folderWith(files)).read(ID)).toEqual({ ...NUMBERS, processes: 12 });
});

it('leaves a working set that files alone make at 0', async () => {
  const files = { ...unified(`docker/${ID}`), [`docker/${ID}/memory.current`]: '1000\n' };
  expect(await groupReader(await folderWith(files)).read(ID)).toEqual({
    ...NUMBERS,
    memoryBytes: 0,
    memoryUsageBytes: 1000,
  });
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

const MEMORY = {
  rssBytes: 1100,
  cacheBytes: 1200,
  mappedFileBytes: 1300,
  pageFaults: 14,
  majorPageFaults: 15,
};
const THROTTLING = { periods: 20, throttledPeriods: 5, throttledNanos: 3_000_000 };
const UNIFIED = `docker/${ID}`;
const whole = {
  'version 2': {
    ...unified(UNIFIED),
    [`${UNIFIED}/cpu.stat`]: 'usage_usec 7000\nnr_periods 20\nnr_throttled 5\nthrottled_usec 3000\n',
    [`${UNIFIED}/memory.stat`]:
      'anon 1100\nfile 1200\nfile_mapped 1300\ninactive_file 2000\npgfault 14\npgmajfault 15\n',
  },
  'version 1': {
    ...legacy(UNIFIED),
    [`cpu/${UNIFIED}/cpu.stat`]: 'nr_periods 20\nnr_throttled 5\nthrottled_time 3000000\n',
    [`memory/${UNIFIED}/memory.stat`]:
      'rss 1\ncache 1\nmapped_file 1\npgfault 1\npgmajfault 1\ntotal_inactive_file 2000\ntotal_rss 1100\ntotal_cache 1200\n' +
      'total_mapped_file 1300\ntotal_pgfault 14\ntotal_pgmajfault 15\n',
  },
};

it.each(Object.entries(whole))('reads how memory is used and CPU time is cut in %s', async (_version, files) => {
  expect(await groupReader(await folderWith(files)).read(ID)).toEqual({
    ...NUMBERS,
    memory: MEMORY,
    throttling: THROTTLING,
  });
});

it('says nothing of a limit on CPU time before its first period', async () => {
  const files = {
    ...unified(UNIFIED),
    [`${UNIFIED}/cpu.stat`]: 'usage_usec 7000\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n',
  };
  expect(await groupReader(await folderWith(files)).read(ID)).toEqual(NUMBERS);
});

it.each([
  ['version 2', unified(UNIFIED), `${UNIFIED}/cgroup.procs`],
  ['version 1', legacy(UNIFIED), `cpuacct/${UNIFIED}/cgroup.procs`],
])('lists the processes of a container in %s', async (_version, files, path) => {
  const { processesOf } = groupReader(await folderWith({ ...files, [path]: '12\n345\n' }));
  expect(await processesOf(ID)).toEqual([12, 345]);
  expect(await processesOf(OTHER)).toEqual([]);
  expect(await processesOf(`../${UNIFIED}`)).toEqual([]);
});

it.each([
  ['version 2', unified(UNIFIED), { [`${UNIFIED}/io.stat`]: '8:0 rbytes=1 wbytes=2 rios=3 wios=4\n' }],
  [
    'version 1',
    legacy(UNIFIED),
    {
      [`blkio/${UNIFIED}/blkio.throttle.io_service_bytes`]: '8:0 Read 1\n8:0 Write 2\nTotal 3\n',
      [`blkio/${UNIFIED}/blkio.throttle.io_serviced`]: '8:0 Read 3\n8:0 Write 4\nTotal 7\n',
    },
  ],
])('reads what a container has read and written where %s counts it', async (_version, files, counted) => {
  const { readDeviceIo } = groupReader(await folderWith({ ...files, ...counted }));
  const io = { device: '8:0', readBytes: 1, writtenBytes: 2, reads: 3, writes: 4 };
  expect(await readDeviceIo(ID)).toEqual([io]);
  expect(await readDeviceIo(OTHER)).toBeUndefined();
  expect(await readDeviceIo(`../${UNIFIED}`)).toBeUndefined();
  expect(await groupReader(await folderWith(files)).readDeviceIo(ID)).toBeUndefined();
});
