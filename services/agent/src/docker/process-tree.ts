import { append } from '@gantry/base';

/** A process that runs. */
export interface ProcessEntry {
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
