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
