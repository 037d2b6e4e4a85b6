import { mkdtemp, readdir, readFile, readlink, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { writeAtomically } from './atomic-folder.ts';

const { signal } = new AbortController();

describe('writeAtomically', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gantry-volume-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));
  const file = (path: string, text: string, mode = 0o644) => ({ path, content: Buffer.from(text), mode });

  it('shows files through one link, and only the new ones after a change', async () => {
    await writeAtomically(folder, [file('a', '1'), file('deep/b', '2', 0o400)], 'v1', undefined, signal);
    expect(await readFile(join(folder, 'a'), 'utf8')).toBe('1');
    expect((await stat(join(folder, 'deep/b'))).mode & 0o777).toBe(0o400);
    await writeAtomically(folder, [file('a', '3'), file('c', '4')], 'v2', undefined, signal);
    expect((await readdir(folder)).filter((name) => !name.startsWith('..')).sort()).toEqual(['a', 'c']);
    expect(await readFile(join(folder, 'a'), 'utf8')).toBe('3');
    expect(await readdir(folder)).not.toContain('..v1');
  });

  it('lets a group read its files, whatever their modes', async () => {
    const group = process.getuid?.() === 0 ? 4321 : (process.getgid?.() ?? 0);
    await writeAtomically(folder, [file('deep/b', '2', 0o400)], 'v1', group, signal);
    const { mode, gid } = await stat(join(folder, 'deep/b'));
    expect({ mode: mode & 0o7777, gid }).toEqual({ mode: 0o440, gid: group });
    expect((await stat(join(folder, 'deep'))).mode & 0o7777).toBe(0o2755);
  });

  it('puts a file in place of a folder', async () => {
    await writeAtomically(folder, [file('a/b', '1')], 'v1', undefined, signal);
    await writeAtomically(folder, [file('a', '1')], 'v2', undefined, signal);
    expect(await readFile(join(folder, 'a'), 'utf8')).toBe('1');
  });

  it('is not new when its version cannot be read: the error is thrown, and all stays', async () => {
    await writeFile(join(folder, '..data'), 'no link');
    const written = writeAtomically(folder, [file('a', '1')], 'v1', undefined, signal);
    await expect(written).rejects.toMatchObject({ code: 'EINVAL' });
    expect(await readdir(folder)).toEqual(['..data']);
  });

  it('changes nothing when the content is equal', async () => {
    const files = [file('a', '1'), file('deep/b', '2')];
    await writeAtomically(folder, files, 'v1', undefined, signal);
    await writeAtomically(folder, files, 'v2', undefined, signal);
    expect(await readlink(join(folder, '..data'))).toBe('..v1');
  });

  it('takes away a file that is in the volume no more', async () => {
    await writeAtomically(folder, [file('a', '1'), file('b', '2')], 'v1', undefined, signal);
    await writeAtomically(folder, [file('a', '1')], 'v2', undefined, signal);
    expect((await readdir(folder)).sort()).toEqual(['..data', '..v2', 'a']);
  });

  it('leaves nothing of a version that could not be written, and the one before as it is', async () => {
    await writeAtomically(folder, [file('a', '1')], 'v1', undefined, signal);
    const written = writeAtomically(
      folder,
      [file('a', '2'), file('b', '3'), file('b/c', '4')],
      'v2',
      undefined,
      signal,
    );
    await expect(written).rejects.toMatchObject({ code: 'EEXIST' });
    expect((await readdir(folder)).sort()).toEqual(['..data', '..v1', 'a']);
    expect(await readFile(join(folder, 'a'), 'utf8')).toBe('1');
  });

  it('gives a file to its user', async () => {
    const user = process.getuid?.() === 0 ? 4321 : (process.getuid?.() ?? 0);
    await writeAtomically(folder, [{ ...file('token', '1', 0o600), user }], 'v1', undefined, signal);
    expect(await stat(join(folder, 'token'))).toMatchObject({ uid: user });
  });
});
