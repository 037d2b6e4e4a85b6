import { readFile } from 'node:fs/promises';
import type Docker from 'dockerode';
import { raceAbort } from '@gantry/base';
import type { ExecResult } from '../runtime/runtime.ts';
import { demultiplex } from './demultiplex.ts';
import { fromDocker } from './docker-error.ts';

/** What kubelet keeps of a probe's output. */
const MAX_OUTPUT_BYTES = 10 * 1024;

/** Runs a command in a container. An aborted one is killed where this process can see it. */
export async function execInContainer(
  docker: Docker,
  id: string,
  command: readonly string[],
  signal: AbortSignal,
): Promise<ExecResult> {
  const exec = await start(docker, id, command);
  try {
    const output = await raceAbort(collect(exec.stream), signal);
    const { ExitCode } = await exec.process.inspect();
    return { exitCode: ExitCode ?? -1, output };
  } catch (error) {
    exec.stream.destroy();
    await killLeftover(exec.process, id);
    throw signal.aborted ? error : fromDocker(error, 'Runtime');
  }
}

async function start(docker: Docker, id: string, command: readonly string[]) {
  try {
    const process = await docker
      .getContainer(id)
      .exec({ Cmd: [...command], AttachStdout: true, AttachStderr: true, Tty: false });
    return { process, stream: await process.start({ hijack: true, stdin: false }) };
  } catch (error) {
    throw fromDocker(error, 'Runtime');
  }
}

async function collect(stream: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of demultiplex(stream)) {
    if (size < MAX_OUTPUT_BYTES) parts.push(part);
    size += part.length;
  }
  return Buffer.concat(parts).subarray(0, MAX_OUTPUT_BYTES).toString();
}

/**
 * The engine leaves a process behind whose exec was dropped. It is killed by its number in the host's process namespace,
 * and only where this process is in that namespace too: its control group must name the container.
 */
async function killLeftover(exec: Docker.Exec, containerId: string): Promise<void> {
  try {
    const state = await exec.inspect();
    if (!state.Running || !state.Pid) return;
    const groups = await readFile(`/proc/${state.Pid}/cgroup`, 'utf8');
    if (groups.includes(containerId)) process.kill(state.Pid, 'SIGKILL');
  } catch {
    // It ended meanwhile, or it is out of sight: the container's own end takes it along.
  }
}
