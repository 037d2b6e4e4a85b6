import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { startDevServer } from './dev-server.ts';

afterEach(() => void vi.unstubAllEnvs());

it.each([
  ['setInterval(() => {}, 1000)', 1, 'the server was not ready after 1 ms'],
  ['', 60_000, 'the server ended before it was ready'],
])('of a server that does not become ready, nothing is left: %s', async (then, readyMs, message) => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'gantry-dev-server-'));
  await using own = await mkdtempDisposable(join(tmpdir(), 'gantry-dev-server-'));
  vi.stubEnv('TMPDIR', folder.path);
  const main = join(own.path, 'main.mjs');
  writeFileSync(main, then);
  await expect(startDevServer({ profileDir: undefined, etcdMembers: 0 }, { main, readyMs })).rejects.toThrow(message);
  expect(readdirSync(folder.path)).toEqual([]);
  const left = processesWith(folder.path);
  // Else the test would wait for them.
  for (const pid of left) process.kill(pid, 'SIGKILL');
  expect(left).toEqual([]);
});

/** Ids of the processes of this machine that have this among their arguments. */
function processesWith(text: string): readonly number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => {
      try {
        return pid > 0 && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text);
      } catch {
        return false; // the process ended between two looks
      }
    });
}
