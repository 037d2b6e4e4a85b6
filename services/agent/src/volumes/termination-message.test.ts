import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, open, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeMessageFile, readMessageFile } from './termination-message.ts';

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
