import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';

/** A program whose output is read line by line. */
export interface LineProcess {
  readonly child: ChildProcessWithoutNullStreams;
  /** Resolves with what it wrote to standard error when it has ended and all its lines were read. */
  readonly ended: Promise<string>;
}

/**
 * Starts a program. `signal` kills it, perhaps within a line: only complete lines are reported. A container that it runs goes on. Its
 * standard input is empty, unless the caller keeps it open to write to it.
 */
export function startLines(
  program: string,
  args: readonly string[],
  signal: AbortSignal,
  onLine: (line: string) => void,
  input: 'empty' | 'open' = 'empty',
): LineProcess {
  const child = spawn(program, [...args], { stdio: ['pipe', 'pipe', 'pipe'], signal, killSignal: 'SIGKILL' });
  // Its end is reported instead.
  child.stdin.on('error', () => undefined);
  if (input === 'empty') child.stdin.end();
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said = `${said}${text}`.slice(-2000)));
  // An abort is reported as an error of the child; its end follows all the same.
  child.on('error', (error) => (said = error.message));
  let parts: string[] = [];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const [first = '', ...others] = text.split('\n');
    parts.push(first);
    for (const next of others) {
      onLine(parts.join(''));
      parts = [next];
    }
  });
  // Not `once`: it would reject with the error of an abort.
  return { child, ended: new Promise((resolve) => child.once('close', () => resolve(said.trim()))) };
}
