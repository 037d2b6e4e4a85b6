import { readdir } from 'node:fs/promises';
import { append } from '@gantry/base';
import { PROCESS_ENDED, readIfThere } from '../files/if-there.ts';

/** Further passes find processes that were created during the kill. */
const MAX_PASSES = 20;
/** The number of files that are open at once. A pod may have tens of thousands of processes, and an agent has fewer descriptors. */
const BATCH = 64;

/**
 * Kills a process, its descendants and its session. Kills only processes whose control group contains `containerId`: `pid` may refer to
 * another process, because it comes from another namespace or was reused. 'absent' if there was none.
 */
export async function killTree(pid: number, containerId: string): Promise<'killed' | 'absent'> {
  let found: 'killed' | 'absent' = 'absent';
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    const tree = processTree(await readProcesses(), pid);
    const groups = await readAll(tree.map((member) => `/proc/${member}/cgroup`));
    const left = tree.filter((_, index) => groups[index]?.includes(containerId) === true);
    if (left.length === 0) break;
    for (const member of left) kill(member);
    found = 'killed';
  }
  return found;
}

async function readProcesses(): Promise<readonly ProcessEntry[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const stats = await readAll(pids.map((pid) => `/proc/${pid}/stat`));
  return stats.flatMap((text) => (text === undefined ? [] : (readStat(text) ?? [])));
}

/** The texts of files below /proc; undefined for files of processes that have ended. */
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
    // The process has already ended.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** A running process. */
interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly session: number;
}

/** Parses `/proc/<pid>/stat`; undefined for a process that has ended but still has an entry. */
export function readStat(text: string): ProcessEntry | undefined {
  // The name, in parentheses, may contain any character.
  const end = text.lastIndexOf(')');
  const pid = Number(text.slice(0, text.indexOf(' ')));
  const [state, parent, , session] = text.slice(end + 2).split(' ');
  if (state === 'Z' || state === 'X' || session === undefined) return undefined;
  return { pid, parent: Number(parent), session: Number(session) };
}

/** `root`, its descendants, and the rest of its session: when a process ends, its children get another parent. */
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
