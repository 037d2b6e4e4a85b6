import { lstat, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Container, VolumeMount } from '@gantry/objects';
import { expect, it, onTestFinished } from 'vitest';
import { container, pod } from '../../testing/pods.ts';
import { makeMountPoints, MAX_MOUNTS, mountPointsIn } from './mount-points.ts';

const at = (name: string, mountPath: string, change: Partial<VolumeMount> = {}): VolumeMount => ({
  name,
  mountPath,
  ...change,
});
const having = (volumeMounts: VolumeMount[], others: Container[] = []) =>
  pod({ containers: [container('main', { volumeMounts }), ...others] });

it.each<[string, VolumeMount[], readonly string[]]>([
  ['what is mounted below it, whatever the order', [at('b', '/a/b/c'), at('v', '/a')], ['b/c']],
  ['nothing beside it or above it', [at('v', '/a/b'), at('x', '/a/bc'), at('y', '/a'), at('z', '/')], []],
  ['only the outer one of two', [at('v', '/a'), at('x', '/a/b'), at('y', '/a/b/c'), at('z', '/a/bc')], ['b', 'bc']],
  ['what its paths mean', [at('v', 'a/'), at('x', '//a/./c/../b/')], ['b']],
  ['nothing of a part of it', [at('v', '/a', { subPath: 's' }), at('x', '/a/b')], []],
  ['nothing of a part of it by an expression', [at('v', '/a', { subPathExpr: '$(S)' }), at('x', '/a/b')], []],
])('a volume has as mount points: %s', (_title, mounts, expected) => {
  expect(mountPointsIn('v', having(mounts))).toEqual(expected);
});

it('a volume has the mount points of all containers', () => {
  const other = container('other', { volumeMounts: [at('v', '/z'), at('x', '/z/y')] });
  expect(mountPointsIn('v', having([at('v', '/a'), at('x', '/a/b')], [other])).toSorted()).toEqual(['b', 'y']);
});

it('mount points are made, and files that stand there stay', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-mount-points-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await mkdir(join(folder, '..1'));
  await writeFile(join(folder, '..1', 'file'), 'text');
  await symlink('..1', join(folder, '..data'));
  await symlink('..data/file', join(folder, 'file'));
  const mounts = [at('v', '/a'), at('x', '/a/new/deep'), at('y', '/a/file'), at('z', '/a/file/below')];
  await makeMountPoints(folder, 'v', having(mounts));
  await makeMountPoints(folder, 'v', having([at('v', '/a'), at('z', '/a/file/below')]));
  expect((await lstat(join(folder, 'new', 'deep'))).mode & 0o777).toBe(0o755);
  expect(await readFile(join(folder, 'file'), 'utf8')).toBe('text');
});

it('a volume whose mounts are nested in each other has the outermost of each', () => {
  const nested = ['/a', '/a/a', '/a/a/a'].map((path) => at('v', path));
  const others = ['/a/a/a/x', '/a/a/y', '/a/a-b', '/a/z/z'].map((path, i) => at(`o${i}`, path));
  expect(mountPointsIn('v', having([...nested, ...others])).toSorted()).toEqual(['a', 'a-b', 'x', 'y', 'z/z']);
});

it('too many mount points, and too deep ones, are refused; a container that is never made has none', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-mount-points-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const inside = (count: number) => Array.from({ length: count }, (_, i) => at(`o${i}`, `/a/${i}`));
  const make = (mounts: VolumeMount[]) => makeMountPoints(folder, 'v', having([at('v', '/a'), ...mounts]));
  await expect(make(inside(129))).rejects.toThrow('129 volumes are mounted inside; this node mounts at most 128');
  await expect(make([at('x', `/a${'/b'.repeat(17)}`)])).rejects.toThrow('more than 16 folders deep');
  await make([at('x', `/a${'/b'.repeat(16)}`), ...inside(127)]);
  expect(mountPointsIn('v', having([at('v', '/a'), ...inside(MAX_MOUNTS)]))).toEqual([]);
});
