import { execFileSync } from 'node:child_process';
import { link, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { treeBytes } from './tree-size.ts';

const { signal } = new AbortController();

describe('the size of a volume', () => {
  let base: string;
  let volume: string;
  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), 'gantry-size-'));
    volume = join(base, 'volume');
    await mkdir(join(volume, 'folder'), { recursive: true });
    await writeFile(join(volume, 'folder', 'file'), Buffer.alloc(100_000));
    await link(join(volume, 'folder', 'file'), join(volume, 'again'));
    await writeFile(join(base, 'outside'), Buffer.alloc(1_000_000));
    await symlink(base, join(volume, 'link'));
  });
  afterEach(() => rm(base, { recursive: true }));

  it('is what du says of it: without what links name, and each file once', async () => {
    const du = Number(execFileSync('du', ['-sk', volume], { encoding: 'utf8' }).split('\t')[0]) * 1024;
    const found = await treeBytes(volume, signal);
    expect(Math.abs(found - du)).toBeLessThan(1024);
    expect(found).toBeGreaterThan(100_000);
    expect(found).toBeLessThan(200_000);
  });

  it('is nothing where nothing is', async () => {
    expect(await treeBytes(join(base, 'none'), signal)).toBe(0);
  });
});
