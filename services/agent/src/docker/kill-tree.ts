import { readdir } from 'node:fs/promises';
import { append } from '@gantry/base';
import { PROCESS_ENDED, readIfThere } from '../files/if-there.ts';

/** Processes that are created while others are killed are found by the next pass. */
const MAX_PASSES = 20;
/** Files that are open at once: a pod may have tens of thousands of processes, and an agent has fewer descriptors. */
const BATCH = 64;

/**
 * Kills a process, its descendants and its session. A process is only killed if its control group has `containerId` in its name: `pid`
 * may be that of another process in another namespace, or a new one by now.
 */
export async function killTree(pid: number, containerId: string): Promise<void> {
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    const tree = processTree(await readProcesses(), pid);
    const groups = await readAll(tree.map((member) => `/proc/${member}/cgroup`));
    const left = tree.filter((_, index) => groups[index]?.includes(containerId) === true);
    if (left.length === 0) return;
    for (const member of left) kill(member);
  }
}

async function readProcesses(): Promise<readonly ProcessEntry[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const stats = await readAll(pids.map((pid) => `/proc/${pid}/stat`));
  return stats.flatMap((text) => (text === undefined ? [] : (readStat(text) ?? [])));
}

/** The texts of files below /proc; undefined for those of processes that have ended. */
async function readAll(paths: readonly string[]): Promise<readonly (string | undefined)[]> {
  const texts: (string | undefined)[] = [];
  for (let at = 0; at < paths.length; at += BATCH) {
    append(texts, await Promise.all(paths.slice(at, at + BATCH).map((path) => readIfThere(path, PROCESS_ENDED))));
  }
  return texts;
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    // There is no such process any more.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** A process that runs. */
interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly session: number;
}

/** Reads a `/proc/<pid>/stat`; undefined for a process that has ended and waits for its parent. */
export function readStat(text: string): ProcessEntry | undefined {
  // The name, in parentheses, may contain anything.
  const end = text.lastIndexOf(')');
  const pid = Number(text.slice(0, text.indexOf(' ')));
  const [state, parent, , session] = text.slice(end + 2).split(' ');
  if (state === 'Z' || state === 'X' || session === undefined) return undefined;
  return { pid, parent: Number(parent), session: Number(session) };
}

/** `root`, its descendants, and what is left of its session: children of processes that have ended have another parent. */
export function processTree(processes: readonly ProcessEntry[], root: number): readonly number[] {
  const children = Map.groupBy(processes, ({ parent }) => parent);
  const found = new Set<number>();
  const waiting = processes.filter(({ pid, session }) => pid === root || session === root);
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (found.has(next.pid)) continue;
    found.add(next.pid);
    append(waiting, children.get(next.pid) ?? []);
  }
  return [...found];
}
