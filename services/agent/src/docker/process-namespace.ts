import { spawn } from 'node:child_process';
import { type FileHandle, open, readFile } from 'node:fs/promises';
import { PROCESS_ENDED } from '../files/if-there.ts';

/** A container and its process. */
export interface ContainerProcess {
  readonly id: string;
  readonly pid: number;
}

/**
 * Opens a namespace of a container's process. Checks that the process id was not reused, because the namespace could then be the host's,
 * for example. Undefined once the process has ended. Needs CAP_SYS_PTRACE.
 */
export async function openNamespace(
  { id, pid }: ContainerProcess,
  kind: 'mnt' | 'net',
): Promise<FileHandle | undefined> {
  try {
    const namespace = await open(`/proc/${pid}/ns/${kind}`);
    // Checked after opening: if the process still belongs to the container, the opened namespace does, too.
    if ((await readFile(`/proc/${pid}/cgroup`, 'utf8')).includes(id)) return namespace;
    await namespace.close();
  } catch (error) {
    if (!PROCESS_ENDED.includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
  return undefined;
}

/** The path of the namespace for a program that runs with it. */
export const NAMESPACE_PATH = '/proc/self/fd/3';

/** A program that enters the namespace through `NAMESPACE_PATH`. */
export interface NamespaceProgram {
  readonly command: readonly [file: string, ...args: string[]];
  /** Written to the program's standard input; absent: empty. */
  readonly input?: string;
  /** The program is killed after this time. */
  readonly timeoutMs: number;
}

/** The exit code of a program, null if a signal killed it, and its error output. */
export interface ProgramEnd {
  readonly code: number | null;
  readonly output: string;
}

/** Runs a program with an open namespace. Rejects when it cannot be started. */
export async function runWithNamespace({ fd }: FileHandle, program: NamespaceProgram): Promise<ProgramEnd> {
  const [file, ...args] = program.command;
  const child = spawn(file, args, { stdio: ['pipe', 'ignore', 'pipe', fd], timeout: program.timeoutMs });
  const { promise, resolve, reject } = Promise.withResolvers<number | null>();
  let output = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  child.once('error', reject).once('close', resolve);
  // If the child has ended early, its error output gives the reason.
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(program.input ?? '');
  return { code: await promise, output: output.trim() };
}
