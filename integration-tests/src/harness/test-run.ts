import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** The file of a test cluster's folder that says which process will remove the cluster. */
export const TEST_RUN_FILE = 'test-run';

/** Says that this process removes the cluster in the end. Written before the cluster is started. */
export function markTestRun(path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${process.pid} ${beginningOf(process.pid)}\n`);
}

/** No process is to remove the cluster any more: it was removed, or is kept. */
export function unmarkTestRun(path: string): void {
  rmSync(path, { force: true });
}

/**
 * Whether the process that would remove the cluster has ended before it did. A file that is not there, not whole, or another user's says
 * nothing. The path may come from a label of any container.
 */
export function isInterrupted(path: string, user = process.getuid?.()): boolean {
  if (!belongsTo(path, user)) return false;
  const [, pid, begun] = /^(\d+) (.+)\n$/.exec(readIfThere(path) ?? '') ?? [];
  return pid !== undefined && beginningOf(Number(pid)) !== begun;
}

/** What tells a process from a later one with the same number: when it began, or that it does not run. Without /proc, only the latter. */
function beginningOf(pid: number): string {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return 'never';
  }
  const boot = readIfThere('/proc/sys/kernel/random/boot_id');
  const stat = readIfThere(`/proc/${pid}/stat`);
  if (boot === undefined || stat === undefined) return 'some time';
  // The name of the program stands in parentheses, and may have spaces. The 22nd field is the start, in ticks after boot: proc_pid_stat(5).
  return `${boot.trim()} ${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''}`;
}

function belongsTo(path: string, user: number | undefined): boolean {
  try {
    return statSync(path).uid === user;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EACCES'].includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
