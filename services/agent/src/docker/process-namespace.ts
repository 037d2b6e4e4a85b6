import { spawn } from 'node:child_process';
import { type FileHandle, open, readFile } from 'node:fs/promises';
import { PROCESS_ENDED } from '../files/if-there.ts';

/** A container and its process. */
export interface ContainerProcess {
  readonly id: string;
  readonly pid: number;
}

/**
 * A namespace of a container's process, and of no other one that has got its id since: the host's, for example. Undefined once it has
 * ended. Needs CAP_SYS_PTRACE.
 */
export async function openNamespace(
  { id, pid }: ContainerProcess,
  kind: 'mnt' | 'net',
): Promise<FileHandle | undefined> {
  try {
    const namespace = await open(`/proc/${pid}/ns/${kind}`);
    // What is open now was the container's if the process still is.
    if ((await readFile(`/proc/${pid}/cgroup`, 'utf8')).includes(id)) return namespace;
    await namespace.close();
  } catch (error) {
    if (!PROCESS_ENDED.includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
  return undefined;
}

/** Where a program that runs with a namespace finds it. */
export const NAMESPACE_PATH = '/proc/self/fd/3';

/** A program that enters the namespace by `NAMESPACE_PATH`. */
export interface NamespaceProgram {
  readonly command: readonly [file: string, ...args: string[]];
  /** Written to its standard input; nothing when absent. */
  readonly input?: string;
  /** It is killed after this time. */
  readonly timeoutMs: number;
}

/** How a program ended: its exit code, null where a signal killed it, and what it wrote to its error output. */
export interface ProgramEnd {
  readonly code: number | null;
  readonly output: string;
}

/** Runs a program with a namespace. Rejects when it cannot be started. */
export async function runWithNamespace({ fd }: FileHandle, program: NamespaceProgram): Promise<ProgramEnd> {
  const [file, ...args] = program.command;
  const child = spawn(file, args, { stdio: ['pipe', 'ignore', 'pipe', fd], timeout: program.timeoutMs });
  const { promise, resolve, reject } = Promise.withResolvers<number | null>();
  let output = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  child.once('error', reject).once('close', resolve);
  // A child that has ended says why on its error output.
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(program.input ?? '');
  return { code: await promise, output: output.trim() };
}
