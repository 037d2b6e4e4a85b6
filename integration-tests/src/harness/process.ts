import { type ChildProcess, spawn } from 'node:child_process';

export interface Result {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 180_000;

/** Runs a program to its end; killed, with code 124, when it takes longer than its time. */
export function runProgram(program: string, args: readonly string[], options: RunOptions = {}): Promise<Result> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, [...args], { cwd: options.cwd, env: { ...process.env, ...options.env } });
    let [stdout, stderr] = ['', ''];
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      child.kill('SIGKILL');
    }, options.timeoutMs ?? TIMEOUT_MS);
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk));
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
    child.once('error', reject);
    child.once('close', (code) => {
      clearTimeout(timer);
      resolve({ code: timedOut ? 124 : (code ?? 1), stdout, stderr });
    });
    child.stdin.on('error', () => undefined); // A program may end before it has read its input.
    child.stdin.end(options.input ?? '');
  });
}

/** A program that runs on, with what it has printed so far. Dispose of it to end it. */
export interface Running extends AsyncDisposable {
  readonly output: () => string;
}

export function startProgram(program: string, args: readonly string[], env: Readonly<Record<string, string>>): Running {
  const child: ChildProcess = spawn(program, [...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => (output += chunk));
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => (output += chunk));
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  return {
    output: () => output,
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
