import { readFile } from 'node:fs/promises';
import type { Duplex } from 'node:stream';
import type Docker from 'dockerode';
import { raceAbort } from '@gantry/base';
import type { ExecResult } from '../runtime/containers.ts';
import { demultiplex } from './demultiplex.ts';
import { fromDocker } from './docker-error.ts';
import type { EngineCalls } from './engine-calls.ts';

/** kubelet's limit for a probe's output. */
const MAX_OUTPUT_BYTES = 10 * 1024;

/** Runs a command in a container. When it is aborted, its process is killed if this process can see it. */
export async function execInContainer(
  calls: EngineCalls,
  id: string,
  command: readonly string[],
  signal: AbortSignal,
): Promise<ExecResult> {
  const process = await create(calls, id, command, signal);
  let stream: Duplex | undefined;
  try {
    stream = await calls.change(signal, (_docker, abortSignal) =>
      process.start({ hijack: true, stdin: false, abortSignal }),
    );
    const output = await raceAbort(collect(stream), signal);
    const { ExitCode } = await calls.read(signal, (_docker, abortSignal) => process.inspect({ abortSignal }));
    return { exitCode: ExitCode ?? -1, output };
  } catch (error) {
    stream?.destroy();
    await killLeftover(calls, process, id);
    throw signal.aborted ? error : fromDocker(error, 'Runtime');
  }
}

async function create(
  calls: EngineCalls,
  id: string,
  command: readonly string[],
  signal: AbortSignal,
): Promise<Docker.Exec> {
  const options = { Cmd: [...command], AttachStdout: true, AttachStderr: true, Tty: false };
  try {
    return await calls.read(signal, (docker, abortSignal) => docker.getContainer(id).exec({ ...options, abortSignal }));
  } catch (error) {
    throw signal.aborted ? error : fromDocker(error, 'Runtime');
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
async function killLeftover(calls: EngineCalls, exec: Docker.Exec, containerId: string): Promise<void> {
  try {
    const { signal } = new AbortController();
    const state = await calls.read(signal, (_docker, abortSignal) => exec.inspect({ abortSignal }));
    if (!state.Running || !state.Pid) return;
    const groups = await readFile(`/proc/${state.Pid}/cgroup`, 'utf8');
    if (groups.includes(containerId)) process.kill(state.Pid, 'SIGKILL');
  } catch {
    // It has ended, or is in another namespace: then it ends with its container.
  }
}
