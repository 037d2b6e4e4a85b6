import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { onAbort } from '@gantry/base';

/** The error of a failed program of the host's network tools. */
export class ProgramError extends Error {
  override readonly name = 'ProgramError';
  readonly code: number | null;

  constructor(program: string, code: number | null, output: string) {
    super(`${program} ended with ${code ?? 'a signal'}: ${output.trim().slice(0, 2000)}`);
    this.code = code;
  }
}

/** Runs a program to its end and returns its standard output. Throws ProgramError if it fails. */
export function runProgram(program: string, args: readonly string[], signal: AbortSignal, input = ''): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const child: ChildProcess = spawn(program, args, { signal, stdio: ['pipe', 'pipe', 'pipe'] });
  // This comes before the streams, because a process with too many open files has none.
  child.on('error', reject);
  const output: Buffer[] = [];
  const errors: Buffer[] = [];
  child.stdout?.on('data', (chunk: Buffer) => output.push(chunk));
  child.stderr?.on('data', (chunk: Buffer) => errors.push(chunk));
  child.on('close', (code) => {
    if (code === 0) resolve(Buffer.concat(output).toString('utf8'));
    else reject(new ProgramError(program, code, Buffer.concat(errors).toString('utf8')));
  });
  // If a program ends without reading its input, its exit code tells why.
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(input);
  return promise;
}

/** Runs a program that keeps running, and passes on its lines as they come. Rejects if it ends before the signal is aborted. */
export async function followProgram(
  program: string,
  args: readonly string[],
  onLine: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const child: ChildProcess = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  child.on('error', reject);
  const errors: Buffer[] = [];
  const input = child.stdout ?? undefined;
  const lines =
    input === undefined
      ? undefined
      : createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY }).on('line', onLine);
  child.stderr?.on('data', (chunk: Buffer) => errors.push(chunk));
  child.on('close', (code) => {
    if (signal.aborted) resolve();
    else reject(new ProgramError(program, code, Buffer.concat(errors).toString('utf8')));
  });
  using _ = onAbort(signal, () => child.kill());
  try {
    await promise;
  } finally {
    lines?.close();
  }
}

/** Whether an iptables command succeeds. The command waits for the lock that all writers of rules share. */
export async function succeeds(iptables: string, args: readonly string[], signal: AbortSignal): Promise<boolean> {
  try {
    await runProgram(iptables, ['-w', ...args], signal);
    return true;
  } catch (error) {
    if (error instanceof ProgramError && !signal.aborted) return false;
    throw error;
  }
}
