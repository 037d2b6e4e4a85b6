import { chmod, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { container } from '../testing/pods.ts';
import { hasOwnFile, RESOLVER_PATH, writePodFile } from './pod-file.ts';

describe('the resolv.conf of a pod', () => {
  let folder: string;
  let path: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gantry-resolver-'));
    path = join(folder, 'pod', 'resolv.conf');
  });
  afterEach(() => rm(folder, { recursive: true }));
  const write = (text: string) => writePodFile(path, text, 'once');

  it('is written once: a container that starts later finds what an earlier one wrote', async () => {
    await write('nameserver 1.2.3.4\n');
    expect(await readFile(path, 'utf8')).toBe('nameserver 1.2.3.4\n');
    expect((await stat(path)).mode & 0o777).toBe(0o644);
    await writeFile(path, 'mine');
    await write('nameserver 1.2.3.4\n');
    expect(await readFile(path, 'utf8')).toBe('mine');
  });

  it('is readable for all users whatever the mask of the agent', async () => {
    await write('');
    await chmod(path, 0o600);
    await write('nameserver 1.2.3.4\n');
    expect((await stat(path)).mode & 0o777).toBe(0o644);
  });

  it('is no link to another file', async () => {
    await write('');
    await rm(path);
    await writeFile(join(folder, 'secret'), '');
    await symlink(join(folder, 'secret'), path);
    await expect(write('nameserver 1.2.3.4\n')).rejects.toMatchObject({ code: 'ELOOP' });
  });

  it('gives way to what a container mounts there itself', () => {
    expect(
      hasOwnFile(container('a', { volumeMounts: [{ name: 'v', mountPath: '/etc/resolv.conf' }] }), RESOLVER_PATH),
    ).toBe(true);
    expect(hasOwnFile(container('a', { volumeMounts: [{ name: 'v', mountPath: '/etc' }] }), RESOLVER_PATH)).toBe(false);
  });
});

it('a file that changes with the sandbox is written anew, in its place', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'pod-file-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, 'etc-hosts');
  await writePodFile(path, 'a longer text', 'always');
  const { ino } = await stat(path);
  await writePodFile(path, 'short', 'always');
  expect(await readFile(path, 'utf8')).toBe('short');
  expect((await stat(path)).ino).toBe(ino);
});
