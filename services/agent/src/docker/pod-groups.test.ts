import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { nextGroupLimits } from '../plan/pod-group.ts';
import { podResources } from '../spec/resources.ts';
import { pod } from '../testing/pods.ts';
import { groupPrefix, groupParent, podGroup } from './options/pod-group-name.ts';
import { PodGroups } from './pod-groups.ts';

const POD = { owner: { cluster: 'gantry-a', node: 'node-a' }, uid: '0a-1' };
const NAME = podGroup(POD);

async function folderWith(files: Readonly<Record<string, string>>): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'groups-'));
  onTestFinished(() => rm(root, { recursive: true }));
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), content);
  }
  return root;
}

/** The kernel's files of a group without limits. */
const legacy = (group: string) => ({
  [`cpu/${group}/cpu.shares`]: '1024\n',
  [`cpu/${group}/cpu.cfs_quota_us`]: '-1\n',
  [`memory/${group}/memory.limit_in_bytes`]: '9223372036854771712\n',
  [`memory/${group}/memory.memsw.limit_in_bytes`]: '9223372036854771712\n',
  [`memory/${group}/memory.use_hierarchy`]: '1\n',
  [`memory/${group}/memory.usage_in_bytes`]: '4096\n',
});
const unified = (group: string) => ({
  'cgroup.controllers': 'cpu memory pids\n',
  'docker/cgroup.subtree_control': 'cpuset cpu io memory pids\n',
  [`${group}/cpu.weight`]: '100\n',
  [`${group}/cpu.max`]: 'max 100000\n',
  [`${group}/memory.max`]: 'max\n',
  [`${group}/memory.swap.max`]: 'max\n',
  [`${group}/memory.current`]: '4096\n',
});
const LIMITS = { cpuShares: 512, cpuQuotaMicros: 50_000, memoryBytes: 2 ** 26 };

describe('the control group of a pod', () => {
  it('stands beside those of containers, under a name that says whose it is', () => {
    expect(groupParent(POD)).toMatch(/^\/docker\/gantry-a-[0-9a-f]{12}-pod0a-1$/);
    expect(groupPrefix({ ...POD.owner, node: 'node-b' })).not.toBe(groupPrefix(POD.owner));
    expect(() => podGroup({ ...POD, uid: '../x' })).toThrow('"../x" cannot name a control group');
  });

  it('is none of a uid that leads elsewhere', async () => {
    const groups = new PodGroups(await folderWith(legacy(NAME)));
    const elsewhere = { ...POD, uid: '/../../x' };
    await expect(groups.updatePodGroup(elsewhere, LIMITS)).rejects.toThrow('cannot name a control group');
    expect(await groups.removePodGroup(elsewhere)).toBe(true);
  });

  it.each([
    ['version 1', legacy(NAME), { cpuShares: 1024 }, LIMITS],
    // A weight corresponds to 26 shares.
    ['version 2', unified(NAME), { cpuShares: 2597 }, { ...LIMITS, cpuShares: 500 }],
  ])('is held to limits, and to none, in %s', async (_, files, before, after) => {
    const groups = new PodGroups(await folderWith(files));
    expect((await groups.find(POD))?.limits).toEqual(before);
    await groups.updatePodGroup(POD, LIMITS);
    const found = await groups.find(POD);
    expect(found?.limits).toEqual(after);
    expect(Math.abs(LIMITS.cpuShares - after.cpuShares)).toBeLessThan(found?.precision.cpuShares ?? 0);
    expect(await groups.readPodMemory(POD)).toBe(4096);
    await groups.updatePodGroup(POD, { cpuShares: 2 });
    expect((await groups.find(POD))?.limits).toMatchObject({ cpuShares: 2 });
    expect((await groups.find(POD))?.limits).not.toHaveProperty('cpuQuotaMicros');
  });

  it('is not given swap in place of memory', async () => {
    const [one, two] = [await folderWith(legacy(NAME)), await folderWith(unified(NAME))];
    for (const root of [one, two]) await new PodGroups(root).updatePodGroup(POD, LIMITS);
    const text = (root: string, file: string) => readFile(join(root, file), 'utf8');
    expect(await text(one, `memory/${NAME}/memory.memsw.limit_in_bytes`)).toBe(String(2 ** 26));
    expect(await text(two, `${NAME}/memory.swap.max`)).toBe('0');
    expect(await text(two, `${NAME}/memory.max`)).toBe(String(2 ** 26));
    await new PodGroups(two).updatePodGroup(POD, { cpuShares: 2 });
    expect(await text(two, `${NAME}/memory.swap.max`)).toBe('max');
  });

  it.each([
    ['version 1', legacy(NAME), `memory/${NAME}/memory.memsw.limit_in_bytes`, String(2 ** 27)],
    ['version 2', unified(NAME), `${NAME}/memory.swap.max`, 'max'],
  ])('is held to its limits when its swap is, too: %s', async (_, files, file, before) => {
    const root = await folderWith(files);
    const groups = new PodGroups(root);
    const object = pod({ resources: { limits: { memory: '64Mi' } } });
    const next = async () => nextGroupLimits(object, await groups.find(POD), 'as-wanted');
    const limits = podResources(object) ?? {};
    await groups.updatePodGroup(POD, limits);
    expect(await next()).toBeUndefined();
    // An agent is killed in between.
    await writeFile(join(root, file), before);
    expect(await next()).toEqual(limits);
    await groups.updatePodGroup(POD, limits);
    expect(await next()).toBeUndefined();
    // Without a memory limit, there is no limit for swap either.
    await groups.updatePodGroup(POD, { cpuShares: 2 });
    expect(await groups.find(POD)).not.toHaveProperty('swap');
  });

  it('counts what is in groups below it, on old kernels too', async () => {
    const root = await folderWith({ ...legacy(NAME), [`memory/${NAME}/memory.use_hierarchy`]: '0\n' });
    await new PodGroups(root).updatePodGroup(POD, LIMITS);
    expect(await readFile(join(root, `memory/${NAME}/memory.use_hierarchy`), 'utf8')).toBe('1');
  });

  it.each([
    ['version 1', { 'cpu/docker/x': '', 'memory/docker/x': '', 'pids/docker/x': '' }, 'memory/'],
    ['version 2', { 'cgroup.controllers': '', 'docker/x': '' }, ''],
  ])('is found, listed and removed with nothing in it: %s', async (_, files, mark) => {
    const root = await folderWith(files);
    const groups = new PodGroups(root);
    expect(await groups.listPodGroups(POD.owner)).toEqual([]);
    expect(await groups.removePodGroup(POD)).toBe(true);
    const other = podGroup({ ...POD, owner: { ...POD.owner, node: 'node-b' } });
    const folders = Object.keys(files).flatMap((file) => (file.endsWith('/x') ? [dirname(file)] : []));
    for (const folder of folders) {
      for (const group of [NAME, other]) await mkdir(join(root, dirname(folder), group), { recursive: true });
    }
    await mkdir(join(root, mark, NAME, 'container'));
    expect(await groups.listPodGroups(POD.owner)).toEqual(['0a-1']);
    expect([await groups.holds(POD, 'container'), await groups.holds(POD, 'other')]).toEqual([true, false]);
    expect(await groups.removePodGroup(POD)).toBe(false);
    await rm(join(root, mark, NAME, 'container'), { recursive: true });
    expect(await groups.removePodGroup(POD)).toBe(true);
    for (const folder of folders) {
      const left = (await readdir(join(root, folder))).filter((name) => name !== 'x');
      expect(left.map((name) => join('docker', name))).toEqual([other]);
    }
  });

  it('is known as soon as a part of it is made', async () => {
    // The other hierarchy has no place for the group.
    const groups = new PodGroups(await folderWith({ 'memory/docker/x': '', 'cpu/x': '' }));
    await expect(groups.updatePodGroup(POD, LIMITS)).rejects.toThrow('ENOENT');
    expect(await groups.find(POD)).toBeUndefined();
    expect(await groups.listPodGroups(POD.owner)).toEqual(['0a-1']);
    expect(await groups.removePodGroup(POD)).toBe(true);
    expect(await groups.listPodGroups(POD.owner)).toEqual([]);
  });

  it('is none where there are no control groups', async () => {
    const groups = new PodGroups('/nonexistent');
    expect(await groups.find(POD)).toBeUndefined();
    expect(await groups.listPodGroups(POD.owner)).toEqual([]);
    expect(await groups.readPodMemory(POD)).toBeUndefined();
    expect(await groups.holds(POD, 'c')).toBe(false);
    await expect(groups.updatePodGroup(POD, LIMITS)).rejects.toThrow('no control groups in /nonexistent');
  });

  it('fails with the reason when the kernel refuses limits', async () => {
    const groups = new PodGroups(await folderWith({ 'memory/docker/x': '', 'cpu/docker/x': '' }));
    await expect(groups.updatePodGroup(POD, LIMITS)).rejects.toThrow("the pod's control group was not set: ENOENT");
  });
});

describe('pods have control groups', () => {
  const of = async (files: Readonly<Record<string, string>>, driver = 'cgroupfs') =>
    await new PodGroups(await folderWith(files)).support(driver);

  it('where the engine manages its own and the agent reaches them', async () => {
    expect(await of(legacy('docker'))).toBe('supported');
    expect(await of(unified('docker'))).toBe('supported');
  });

  it('not where systemd does, or the agent finds none', async () => {
    expect(await of(legacy('docker'), 'systemd')).toBe('driver');
    expect(await of({})).toBe('unreachable');
    expect(await of({ 'memory/tasks': '' })).toBe('unreachable');
    expect(await of({ ...unified('docker'), 'docker/cgroup.subtree_control': 'cpu pids\n' })).toBe('unreachable');
  });
});
