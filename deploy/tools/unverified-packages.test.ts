import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const PROGRAM = join(import.meta.dirname, '../lib/unverified-packages.mjs');

async function unverifiedOf(packages: Readonly<Record<string, object>>): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-lock-'));
  try {
    await writeFile(join(folder, 'package-lock.json'), JSON.stringify({ packages }));
    const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM], { cwd: folder });
    return stdout.split('\n').slice(0, -1);
  } finally {
    await rm(folder, { recursive: true });
  }
}

test('names what npm would install here without a checksum to compare with', async () => {
  const here = { version: '1.0.0', os: [process.platform], cpu: [process.arch] };
  expect(
    await unverifiedOf({
      '': {},
      'node_modules/plain': { version: '2.0.0' },
      'node_modules/a/node_modules/@scope/native': here,
      'node_modules/checked': { version: '1.0.0', integrity: 'sha512-x' },
      'node_modules/workspace': { link: true },
      'node_modules/elsewhere': { ...here, os: ['plan9'] },
      'node_modules/other-processor': { ...here, cpu: ['pdp11'] },
      'node_modules/not-here': { version: '1.0.0', os: [`!${process.platform}`] },
      'node_modules/not-there': { version: '3.0.0', os: ['!plan9'] },
    }),
  ).toEqual(['plain@2.0.0', '@scope/native@1.0.0', 'not-there@3.0.0']);
});

test('nothing of the lock file is installed unverified on Linux', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM], {
    cwd: join(import.meta.dirname, '../..'),
  });
  expect(process.platform === 'linux' ? stdout : '').toBe('');
});
