import { chmod, lstat, mkdir, mkdtemp, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { giveToGroup } from './file-owner.ts';
import { makeNested, removeNested } from './testing/nested-folders.ts';

const { signal } = new AbortController();
/** Only root can give files to a group that it is not a member of. */
const group = process.getuid?.() === 0 ? 4321 : (process.getgid?.() ?? 0);

describe('a volume that is given to a group', () => {
  let base: string;
  let volume: string;
  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), 'gantry-group-'));
    volume = join(base, 'volume');
    await mkdir(join(volume, 'folder'), { recursive: true, mode: 0o700 });
    await chmod(volume, 0o700);
    await writeFile(join(volume, 'folder', 'file'), '', { mode: 0o600 });
    await writeFile(join(base, 'outside'), '', { mode: 0o600 });
    await symlink(join(base, 'outside'), join(volume, 'link'));
  });
  afterEach(() => removeNested(base));

  const shown = async (path: string) => {
    const { gid, mode } = await stat(path);
    return `${gid} ${(mode & 0o7777).toString(8)}`;
  };

  it('is read and written by it, and what is made in its folders is too', async () => {
    await giveToGroup(volume, { group, access: 'read-write' }, 'always', signal);
    expect(await shown(volume)).toBe(`${group} 2770`);
    expect(await shown(join(volume, 'folder'))).toBe(`${group} 2770`);
    expect(await shown(join(volume, 'folder/file'))).toBe(`${group} 660`);
  });

  it('is only read by it where the volume is read-only', async () => {
    await giveToGroup(volume, { group, access: 'read-only' }, 'always', signal);
    expect(await shown(join(volume, 'folder'))).toBe(`${group} 2750`);
    expect(await shown(join(volume, 'folder/file'))).toBe(`${group} 640`);
  });

  it('changes nothing that a link names', async () => {
    const before = await shown(join(base, 'outside'));
    await giveToGroup(volume, { group, access: 'read-write' }, 'always', signal);
    expect(await shown(join(base, 'outside'))).toBe(before);
    expect((await lstat(join(volume, 'link'))).gid).toBe(group);
  });

  it('is left as it is where its root has the group already and that is enough', async () => {
    await giveToGroup(volume, { group, access: 'read-write' }, 'always', signal);
    const file = join(volume, 'folder/file');
    await chmod(file, 0o600);
    await giveToGroup(volume, { group, access: 'read-write' }, 'on-root-mismatch', signal);
    expect(await shown(file)).toBe(`${group} 600`);
    await chmod(volume, 0o750);
    await giveToGroup(volume, { group, access: 'read-write' }, 'on-root-mismatch', signal);
    expect(await shown(file)).toBe(`${group} 660`);
  });

  it('is given no further when its pod is gone, and again from the start the next time', async () => {
    const stop = new AbortController();
    stop.abort();
    const given = giveToGroup(volume, { group, access: 'read-write' }, 'on-root-mismatch', stop.signal);
    await expect(given).rejects.toThrow('aborted');
    expect(await shown(volume)).not.toBe(`${group} 2770`);
    await giveToGroup(volume, { group, access: 'read-write' }, 'on-root-mismatch', signal);
    expect(await shown(join(volume, 'folder/file'))).toBe(`${group} 660`);
  });

  it('is given as a whole, however deep its folders are and whatever bytes its names have', async () => {
    const file = Buffer.concat([Buffer.from(`${volume}/folder/`), Buffer.from([0xff])]);
    await writeFile(file, '', { mode: 0o600 });
    await using deepest = await makeNested(volume, 300);
    await giveToGroup(volume, { group, access: 'read-write' }, 'always', signal);
    expect((await stat(file)).gid).toBe(group);
    expect((await deepest.stat()).mode & 0o7777).toBe(0o2775);
    expect((await deepest.stat()).gid).toBe(group);
  });
});
