import { readFile } from 'node:fs/promises';
import type Docker from 'dockerode';
import { raceAbort } from '@gantry/base';
import type { ExecResult } from '../runtime/containers.ts';
import { demultiplex } from './demultiplex.ts';
import { fromDocker } from './docker-error.ts';

/** kubelet's limit for a probe's output. */
const MAX_OUTPUT_BYTES = 10 * 1024;

/** Runs a command in a container. When it is aborted, its process is killed if this process can see it. */
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
 * Kills the process of an aborted exec, which the engine leaves running. The engine reports its id in the host's process
 * namespace; the check of its control group makes sure that this process is in the same namespace.
 */
async function killLeftover(exec: Docker.Exec, containerId: string): Promise<void> {
  try {
    const state = await exec.inspect();
    if (!state.Running || !state.Pid) return;
    const groups = await readFile(`/proc/${state.Pid}/cgroup`, 'utf8');
    if (groups.includes(containerId)) process.kill(state.Pid, 'SIGKILL');
  } catch {
    // It has ended, or is in another namespace: then it ends with its container.
  }
}
