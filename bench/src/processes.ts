import { type ChildProcess, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { delimiter, dirname, resolve } from 'node:path';

/** A container of the cluster's services. */
interface RunningContainer {
  readonly id: string;
  readonly service: string;
  readonly name: string;
}

/** With its processes on the host. */
export interface ServiceContainer extends RunningContainer {
  readonly pids: readonly number[];
  /** The one with which the container ends. */
  readonly mainPid: number;
}

/** Ticks of /proc/<pid>/stat in a second on Linux. */
const TICKS_PER_SECOND = 100;

export function docker(...args: string[]): string {
  return execFileSync('docker', args, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 }).trim();
}

/** Ends a process, and resolves when it has ended. One that a signal has ended before has no exit code. */
export async function endProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
}

/** With the kubectl that `up` links beside the kubeconfig, where it has one. */
export function toolsPath(kubeconfig: string): string {
  return [resolve(dirname(kubeconfig), 'tools'), process.env['PATH'] ?? ''].join(delimiter);
}

/** The running containers of a Compose project's services, without those that the engine is restarting. */
export function runningContainers(project: string): RunningContainer[] {
  const filters = ['--filter', `label=com.docker.compose.project=${project}`, '--filter', 'status=running'];
  const format = '{{.ID}} {{.Label "com.docker.compose.service"}} {{.Names}}';
  const lines = docker('ps', ...filters, '--format', format).split('\n');
  return lines
    .filter((line) => line !== '')
    .map((line) => {
      const [id = '', service = '', name = ''] = line.split(' ');
      return { id, service, name };
    });
}

/** The same with their processes. Fails if a container ends meanwhile. */
export function serviceContainers(project: string): ServiceContainer[] {
  return runningContainers(project).map((container) => ({
    ...container,
    pids: docker('top', container.id, '-eo', 'pid').split('\n').slice(1).map(Number),
    mainPid: Number(docker('inspect', '--format', '{{.State.Pid}}', container.id)),
  }));
}

/** CPU time of a process so far, in milliseconds; 0 when it has ended. */
export function cpuMs(pid: number): number {
  return timesOf(pid)?.cpuMs ?? 0;
}

/** When a process was started, in ticks since the machine was, and its CPU time so far; undefined when it has ended. */
export function timesOf(pid: number): { readonly startedAt: number; readonly cpuMs: number } | undefined {
  const fields = readProc(`/proc/${pid}/stat`)
    ?.replace(/^.*\) /, '')
    .split(' ')
    .map(Number);
  if (fields === undefined) return undefined;
  const { 11: user = 0, 12: system = 0, 19: startedAt = 0 } = fields;
  return { startedAt, cpuMs: ((user + system) * 1000) / TICKS_PER_SECOND };
}

/** How often the threads of a process have waited for something so far, and so were woken; 0 when it has ended. */
export function wakeUps(pid: number): number {
  const switches = threadsOf(pid).map((thread) => {
    const status = readProc(`/proc/${pid}/task/${thread}/status`) ?? '';
    return Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(status)?.[1] ?? 0);
  });
  return sumOf(switches);
}

function threadsOf(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return []; // the process ended between two looks
  }
}

/** Proportional set size in KiB; 0 when the process has ended. */
export function pssKib(pid: number): number {
  return Number(/^Pss:\s+(\d+)/m.exec(readProc(`/proc/${pid}/smaps_rollup`) ?? '')?.[1] ?? 0);
}

/** Resident memory in MiB; 0 when the process has ended. */
export function rssMib(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readProc(`/proc/${pid}/status`) ?? '')?.[1] ?? 0) / 1024;
}

function readProc(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined; // the process ended between two looks
  }
}

export function sumOf(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
