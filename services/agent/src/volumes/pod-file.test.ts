import { chmod, mkdtemp, readFile, rm, stat, symlink, writeFile, mkdir, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { container } from '../testing/pods.ts';
import { hasOwnFile, RESOLVER_PATH, writePodFile, volumeText, makeMessageFile, readMessageFile } from './pod-file.ts';
import { execFileSync } from 'node:child_process';

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

it('is that of a regular file in the volume, which a link in it may name, and of nothing outside', async () => {
  const base = await mkdtemp(join(tmpdir(), 'gantry-text-'));
  onTestFinished(() => rm(base, { recursive: true }));
  const volume = join(base, 'volume');
  await mkdir(join(volume, 'folder'), { recursive: true });
  await writeFile(join(volume, 'folder', 'env'), "A='1'");
  await writeFile(join(base, 'secret'), "A='secret'");
  await writeFile(join(volume, 'large'), Buffer.alloc(2 ** 20 + 1));
  await symlink('folder/env', join(volume, 'inside'));
  await symlink('../secret', join(volume, 'outside'));
  await symlink(join(base, 'secret'), join(volume, 'absolute'));
  await symlink('/', join(volume, 'root'));
  execFileSync('mkfifo', [join(volume, 'fifo')]);
  for (const path of ['folder/env', 'inside']) expect(await volumeText(volume, path)).toBe("A='1'");
  const refused = ['outside', 'absolute', `root${base}/secret`, '../secret', 'none', 'folder', 'fifo', 'large'];
  for (const path of refused) expect(await volumeText(volume, path)).toBeUndefined();
});

describe('a termination message', () => {
  let folder: string;
  let file: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gantry-message-'));
    file = join(folder, 'main', '0');
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('begins as an empty file that any user may write to', async () => {
    await makeMessageFile(file);
    expect((await stat(file)).mode & 0o777).toBe(0o666);
    expect(await readMessageFile(file)).toBe('');
    await writeFile(file, 'goodbye');
    expect(await readMessageFile(file)).toBe('goodbye');
  });

  it('is empty where no file is', async () => {
    expect(await readMessageFile(file)).toBe('');
  });

  it.each([1.5 * 2 ** 30, 3 * 2 ** 30])('is the end of a sparse file of %d bytes', async (size) => {
    await mkdir(join(folder, 'main'));
    await using handle = await open(file, 'w');
    await handle.truncate(size - 5);
    await handle.write('ended', size - 5);
    expect(await readMessageFile(file)).toBe(`${'\0'.repeat(4091)}ended`);
  });

  it('is not read through a link, and not waited for at a FIFO', async () => {
    await mkdir(join(folder, 'main'));
    await writeFile(join(folder, 'key'), 'secret');
    await symlink('../key', file);
    expect(await readMessageFile(file)).toContain('Error on reading termination log: ELOOP');
    await expect(makeMessageFile(file)).rejects.toMatchObject({ code: 'ELOOP' });
    expect(await readFile(join(folder, 'key'), 'utf8')).toBe('secret');
    await rm(file);
    execFileSync('mkfifo', [file]);
    expect(await readMessageFile(file)).toBe('');
  });
});
