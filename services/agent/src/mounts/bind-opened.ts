import { chmod, type FileHandle, mkdir, open, rm, stat, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { AgentError } from '../runtime/agent-error.ts';
import type { OpenedPath } from '../runtime/host-mounts.ts';
import type { StateFolder } from '../runtime/state-folder.ts';
import { bindEntry } from './mount-table.ts';
import { tryProgram } from './run-program.ts';

/** The file of mount(8)'s instructions, in the folder of the paths that it binds. */
const TABLE = 'table';
/** The first descriptor after the standard ones: where a child finds the first of those that it is given. */
const FIRST_FD = 3;

/** The mount namespace of the engine's host, for an agent that is in another one. */
export interface HostNamespace {
  /** Its path. */
  readonly find: () => Promise<string>;
  /** A folder that both have, in which mounts of each appear in the other. */
  readonly shared: StateFolder;
}

interface Bind {
  readonly opened: OpenedPath;
  readonly path: string;
}

/**
 * Binds each opened path below `folder`, each in the namespace that it belongs to: the kernel binds nothing from another one. `host` is
 * undefined where this process is in that of the host. Needs CAP_SYS_ADMIN, for the host's also CAP_SYS_CHROOT and CAP_SYS_PTRACE.
 */
export async function bindOpened(
  opened: readonly OpenedPath[],
  folder: string,
  host: HostNamespace | undefined,
): Promise<readonly string[]> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
  const binds = opened.map((each, index) => ({ opened: each, path: join(folder, String(index)) }));
  for (const { opened: each, path } of binds) {
    if (each.kind === 'folder') await mkdir(path);
    else await writeFile(path, '', { flag: 'wx' });
  }
  const isElsewhere = (each: OpenedPath) => host !== undefined && each.namespace === 'host';
  const failure = await bindAll(
    binds.filter((bind) => !isElsewhere(bind.opened)),
    folder,
  );
  if (failure !== undefined) throw new AgentError('FailedMount', `mount failed: ${failure}`);
  if (host !== undefined) await bindOnHost(host, binds, folder);
  for (const bind of binds) await checkSame(bind);
  return binds.map(({ path }) => path);
}

/** The mounts are made in the host's namespace, and appear in this process's by propagation. No program of the host is run. */
async function bindOnHost({ find, shared }: HostNamespace, binds: readonly Bind[], folder: string): Promise<void> {
  const onHost = binds
    .filter(({ opened }) => opened.namespace === 'host')
    .map(({ opened, path }) => ({ opened, path: join(shared.hostPath, relative(shared.path, path)) }));
  if (onHost.length === 0) return;
  await using namespace = await open(await find());
  const failure = await bindAll(onHost, folder, namespace);
  if (failure === undefined) return;
  const message = `a part of what lies on the host (subPath of hostPath or local) cannot be mounted by this node: ${failure}`;
  throw new AgentError('FailedMount', message);
}

/** One process for all: a process for each costs more than the mounts. What it wrote to its error output where it failed. */
async function bindAll(binds: readonly Bind[], folder: string, namespace?: FileHandle): Promise<string | undefined> {
  const before = namespace === undefined ? [] : [namespace.fd];
  const fdOf = (index: number) => `/proc/self/fd/${FIRST_FD + 1 + before.length + index}`;
  const file = join(folder, TABLE);
  await writeFile(file, binds.map(({ path }, index) => bindEntry(fdOf(index), path)).join(''));
  await using table = await open(file);
  await rm(file);
  const failure = await tryProgram(
    'mount',
    [
      // mount(8) hands the descriptor to the kernel as it is, not the path that it has at the moment.
      '--no-canonicalize',
      '--all',
      // In a namespace that it enters, the path of the file is another one.
      `--fstab=/proc/self/fd/${FIRST_FD}`,
      ...(namespace === undefined ? [] : [`--namespace=/proc/self/fd/${FIRST_FD + 1}`]),
    ],
    { fds: [table.fd, ...before, ...binds.map(({ opened }) => opened.fd)] },
  );
  return failure?.output;
}

/** The last line of defence: the bound path is the object that was opened. */
async function checkSame({ opened, path }: Bind): Promise<void> {
  const [wanted, found] = await Promise.all([opened.stat(), stat(path)]);
  if (wanted.dev === found.dev && wanted.ino === found.ino) return;
  throw new AgentError('FailedMount', `${path} does not show what was bound there`);
}
