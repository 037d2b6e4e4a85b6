import { readdir, readFile } from 'node:fs/promises';
import { processTree, readStat, type ProcessEntry } from './process-tree.ts';

/** Processes that are created while others are killed are found by the next pass. */
const MAX_PASSES = 20;

/**
 * Kills a process, its descendants and its session. A process is only killed if its control group has `containerId` in its name: `pid`
 * may be that of another process in another namespace, or a new one by now.
 */
export async function killTree(pid: number, containerId: string): Promise<void> {
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    const tree = processTree(await readProcesses(), pid);
    const members = await Promise.all(tree.map((member) => isOf(member, containerId)));
    const left = tree.filter((_, index) => members[index] === true);
    if (left.length === 0) return;
    for (const member of left) kill(member);
  }
}

async function readProcesses(): Promise<readonly ProcessEntry[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const stats = await Promise.all(pids.map((pid) => readOptional(`/proc/${pid}/stat`)));
  return stats.flatMap((text) => (text === undefined ? [] : (readStat(text) ?? [])));
}

async function isOf(pid: number, containerId: string): Promise<boolean> {
  return (await readOptional(`/proc/${pid}/cgroup`))?.includes(containerId) === true;
}

async function readOptional(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch {
    // The process has ended.
    return undefined;
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}
