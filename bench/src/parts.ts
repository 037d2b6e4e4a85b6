import { must } from '@gantry/base';
import { judge } from './limits.ts';
import { serviceContainers, sumOf, timesOf, wakeUps } from './processes.ts';

/** A service or program with its processes. */
export interface Part {
  readonly name: string;
  readonly pids: readonly number[];
  /** Those of them whose end is a restart: not health checks, which end all the time. */
  readonly mainPids: readonly number[];
}

/** What the processes of a part have used since a meter was started. */
export interface PartUse extends Part {
  readonly cpuMs: number;
  readonly wakeUps: number;
  /** What the processes used that ended or came meanwhile is not known: all of it is at least what is said. */
  readonly hasRestarted: boolean;
}

/** A part whose processes all end only with it. */
export function partOf(name: string, pids: readonly number[]): Part {
  return { name, pids, mainPids: pids };
}

/** The services of a cluster, each with the processes of all its containers. */
export function servicesOf(project: string): readonly Part[] {
  const services = Map.groupBy(serviceContainers(project), ({ service }) => service.replace(/-\d+$/, ''));
  return [...services].map(([name, containers]) => ({
    name,
    pids: containers.flatMap(({ pids }) => pids),
    mainPids: containers.map(({ mainPid }) => mainPid),
  }));
}

/** A part, or what it has used. Fails if there is none. */
export function partNamed<T extends Part>(parts: readonly T[], name: string): T {
  return must(
    parts.find((part) => part.name === name),
    `the service ${name}`,
  );
}

/** Counts from now on what parts use, and returns the function that says it. A process takes its counters with it when it ends. */
export function startMeter(parts: readonly Part[]): () => readonly PartUse[] {
  const before = new Map(parts.flatMap(({ pids }) => pids).map((pid) => [pid, lookAt(pid)]));
  const usedBy = (pid: number) => {
    const [first, now] = [before.get(pid), lookAt(pid)];
    // The id of a process that has ended is given to another one.
    if (first === undefined || now?.startedAt !== first.startedAt) return undefined;
    return { pid, cpuMs: now.cpuMs - first.cpuMs, wakeUps: now.wakeUps - first.wakeUps };
  };
  return () =>
    parts.map((part) => {
      const uses = part.pids.flatMap((pid) => usedBy(pid) ?? []);
      return {
        ...part,
        cpuMs: sumOf(uses.map((use) => use.cpuMs)),
        wakeUps: sumOf(uses.map((use) => use.wakeUps)),
        hasRestarted: part.mainPids.some((main) => uses.every(({ pid }) => pid !== main)),
      };
    });
}

function lookAt(pid: number) {
  const times = timesOf(pid);
  return times && { ...times, wakeUps: wakeUps(pid) };
}

/** Names the parts that have started again, which none may. */
export function judgeRestarts(uses: readonly PartUse[]): readonly string[] {
  const restarted = uses.filter(({ hasRestarted }) => hasRestarted);
  return [
    ...restarted.map(({ name }) => `- started again, so that more was used than is said: ${name}`),
    judge('services that started again', restarted.length, { atMost: 0 }, ''),
  ];
}
