/** Tries real mounts in the folder of its argument. Run it in a container that may mount. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exerciseHostMounts } from '../../runtime/testing/mounts-contract.ts';
import { linuxMounts } from '../linux-mounts.ts';
import { openOwned } from '../open-path.ts';
import { treeUsage } from '../../files/tree-usage.ts';
import { AssertionError } from 'node:assert';

const state = process.argv[2] ?? '';
await exerciseHostMounts(linuxMounts(), state);
await usageWithoutMounts(join(state, 'usage'));

/** A mount in a folder belongs to another place, even if it is on the same disk. */
async function usageWithoutMounts(base: string): Promise<void> {
  const [source, folder] = [join(base, 'source'), join(base, 'folder')];
  await mkdir(source, { recursive: true });
  for (const name of ['one', 'two', 'three']) await writeFile(join(source, name), '');
  const mounts = linuxMounts();
  await using opened = await openOwned(source);
  await mounts.bind([{ opened, propagation: 'none' }], folder);
  const { inodes } = await treeUsage(folder, new AbortController().signal);
  const expected = (await treeUsage(source, new AbortController().signal)).inodes;
  await mounts.remove(folder);
  if (inodes !== 1 || expected !== 4) throw new AssertionError({ actual: [inodes, expected], expected: [1, 4] });
}
