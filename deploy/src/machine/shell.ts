import { spawn } from 'node:child_process';
import { CommandError } from './command-error.ts';

export interface ShellResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ShellOptions {
  /** Variables in addition to the inherited ones. */
  readonly env?: Readonly<Record<string, string>>;
  /** Called with each line of the program's standard error as it arrives. */
  readonly onLine?: (line: string) => void;
  /** Milliseconds after which the program is killed. Unlimited if not given. */
  readonly timeoutMs?: number;
  /** `own`: signals of the terminal, such as Ctrl-C, do not reach the program and those that it starts. */
  readonly group?: 'own';
}

/** Runs programs on this machine. */
export interface Shell {
  /** Resolves with any exit code; rejects when the program cannot be started. */
  run(program: string, args: readonly string[], options?: ShellOptions): Promise<ShellResult>;
}

/** The end of the standard error of a program that was killed because its time was over. */
export const ENDED_BY_LIMIT = 'ended by SIGKILL';

/** A shell in `folder`. */
export function createShell(folder: string, inherited: Readonly<Record<string, string | undefined>>): Shell {
  return {
    run: (program, args, options = {}) =>
      new Promise((resolve, reject) => {
        const child = spawn(program, [...args], {
          cwd: folder,
          env: { ...inherited, ...options.env },
          stdio: ['ignore', 'pipe', 'pipe'],
          detached: options.group === 'own',
          ...(options.timeoutMs === undefined ? {} : { timeout: options.timeoutMs, killSignal: 'SIGKILL' as const }),
        });
        let stdout = '';
        let stderr = '';
        let partial = '';
        child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
          stdout += chunk;
        });
        child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
          stderr += chunk;
          const lines = (partial + chunk).split('\n');
          partial = lines.pop() ?? '';
          for (const line of lines) options.onLine?.(line);
        });
        child.once('error', reject);
        child.once('close', (code, signal) => {
          if (signal !== null) stderr += `ended by ${signal}`;
          resolve({ code: code ?? 1, stdout, stderr });
        });
      }),
  };
}

/** The same shell, in which no program takes longer. */
export function withLimit(shell: Shell, timeoutMs: number): Shell {
  return { run: (program, args, options) => shell.run(program, args, { timeoutMs, ...options }) };
}

/** Runs a program that must succeed and returns its standard output. */
export async function mustRun(
  shell: Shell,
  program: string,
  args: readonly string[],
  options?: ShellOptions,
): Promise<string> {
  const result = await shell.run(program, args, options);
  if (result.code !== 0) {
    const tail = result.stderr.trim().split('\n').slice(-6).join('\n');
    throw new CommandError(`${program} ${args.slice(0, 4).join(' ')} failed (${result.code}): ${tail}`);
  }
  return result.stdout;
}
