import { spawn } from 'node:child_process';

/** A line of running-tests.ts. */
const RUNNING = /^ +… /;

interface HeldOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** Gets lines that name tests which have been running for long, as they come. */
  readonly write: (text: string) => unknown;
}

export interface Held {
  /** 127 if the program could not be started, 1 if a signal ended it. */
  readonly code: number;
  /** What the program has written to both of its outputs. */
  readonly output: string;
}

/**
 * Runs a program and keeps what it writes, so that programs that run at the same time can be reported one after the other.
 * A program that ends with an error does not reject the promise.
 */
export function runHeld(program: string, args: readonly string[], { cwd, env, write }: HeldOptions): Promise<Held> {
  return new Promise((done) => {
    const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    let line = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      const lines = (line + text).split('\n');
      line = lines.pop() ?? '';
      for (const complete of lines) if (RUNNING.test(complete)) write(`${complete}\n`);
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
    child.once('error', (error) => done({ code: 127, output: output + error.message }));
    child.once('close', (code) => done({ code: code ?? 1, output }));
  });
}
