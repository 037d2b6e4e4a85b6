import { spawn } from 'node:child_process';
import { onAbort } from '@gantry/base';
import { AgentError } from '../runtime/agent-error.ts';

/** How long to wait for a killed program. It may not end while it waits in the kernel for a server. */
const KILL_MS = 1_000;
/** The limit of kept error output; the rest is dropped. A program that checks a disk may write very much. */
const MAX_OUTPUT = 4096;

export interface ProgramOptions {
  /** The program's descriptors, from 3 on. */
  readonly fds?: readonly number[];
  /** Kills the program after this time. The call does not wait for a program that ignores the kill. */
  readonly timeoutMs?: number;
  /** Kills the program when aborted. The call does not wait for a program that ignores the kill. */
  readonly signal?: AbortSignal;
}

/** How a program failed, with the beginning of its error output; undefined on success. `timeout`: it was killed after `timeoutMs`. */
export type ProgramFailure = { readonly kind: 'failed' | 'timeout'; readonly output: string } | undefined;

/** Runs a program to its end. AgentError 'FailedMount' when it cannot be started. Rejects with the reason of `signal`. */
export async function tryProgram(
  program: string,
  args: readonly string[],
  { fds = [], timeoutMs, signal }: ProgramOptions = {},
): Promise<ProgramFailure> {
  const child = spawn(program, args, {
    stdio: ['ignore', 'ignore', 'pipe', ...fds],
    killSignal: 'SIGKILL',
    timeout: timeoutMs,
  });
  const { promise, resolve, reject } = Promise.withResolvers<readonly [number | null, NodeJS.Signals | null]>();
  const leave = (afterMs: number) => {
    const left = AbortSignal.timeout(afterMs);
    left.addEventListener('abort', () => resolve([null, 'SIGKILL']), { once: true });
  };
  let output = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    output = (output + text).slice(0, MAX_OUTPUT);
  });
  child.once('error', reject).once('close', (code, killed) => resolve([code, killed]));
  if (timeoutMs !== undefined) leave(timeoutMs + KILL_MS);
  const kill = () => {
    child.kill('SIGKILL');
    leave(KILL_MS);
  };
  using _ = signal === undefined ? undefined : onAbort(signal, kill);
  try {
    const [code, killed] = await promise;
    signal?.throwIfAborted();
    if (code === 0) return undefined;
    return { kind: killed === 'SIGKILL' && timeoutMs !== undefined ? 'timeout' : 'failed', output: output.trim() };
  } catch (error) {
    signal?.throwIfAborted();
    throw new AgentError('FailedMount', `${program} cannot be run`, { cause: error });
  }
}

/** Like `tryProgram`. AgentError 'FailedMount' with the error output when the program fails. */
export async function runProgram(
  program: string,
  args: readonly string[],
  options: ProgramOptions = {},
): Promise<void> {
  const failure = await tryProgram(program, args, options);
  if (failure === undefined) return;
  const why = failure.kind === 'timeout' ? `did not end within ${(options.timeoutMs ?? 0) / 1000} s` : 'failed';
  throw new AgentError('FailedMount', `${program} ${why}: ${failure.output}`);
}
