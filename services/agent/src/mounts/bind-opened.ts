import { chmod, type FileHandle, mkdir, open, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { AgentError } from '../runtime/agent-error.ts';
import type { BindSource, StateFolder } from '../runtime/host-mounts.ts';
import { bindEntry } from './mount-table.ts';
import { tryProgram } from './run-program.ts';
import type { OpenedPath } from '../runtime/host-files.ts';

/** The file of mount(8)'s instructions, in the folder of the paths that it binds. */
const TABLE = 'table';
/** The first descriptor after the standard ones: where a child finds the first of those that it is given. */
const FIRST_FD = 3;
/** What is added to the path of a bind for the one that it is made of. */
const FIRST_BIND = '-first';

/** The mount namespace of the engine's host, for an agent that is in another one. */
export interface HostNamespace {
  /** Its path. */
  readonly find: () => Promise<string>;
  /** A folder that both have, in which mounts of each appear in the other. */
  readonly shared: StateFolder;
}

interface Bind extends BindSource {
  readonly path: string;
}

/** A line for mount(8). */
interface Entry {
  /** A path, or what was opened. */
  readonly source: string | OpenedPath;
  readonly target: string;
  readonly propagation?: 'private' | 'slave';
}

/**
 * Binds each source below `folder`, each in the namespace that it belongs to: the kernel binds nothing from another one. `host` is
 * undefined where this process is in that of the host. Needs CAP_SYS_ADMIN, for the host's also CAP_SYS_CHROOT and CAP_SYS_PTRACE.
 */
export async function bindOpened(
  sources: readonly BindSource[],
  folder: string,
  host: HostNamespace | undefined,
): Promise<readonly string[]> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
  const binds = sources.map((source, index) => ({ ...source, path: join(folder, String(index)) }));
  for (const { opened, path } of binds) await makePlace(opened, path);
  const isElsewhere = ({ opened }: Bind) => host !== undefined && opened.namespace === 'host';
  const here = binds.filter((bind) => !isElsewhere(bind));
  const failure = await mountAll(
    here.map(({ opened, path }) => ({ source: opened, target: path })),
    folder,
  );
  if (failure !== undefined) throw new AgentError('FailedMount', `mount failed: ${failure}`);
  if (host !== undefined) await bindOnHost(host, binds.filter(isElsewhere), folder);
  for (const bind of binds) await checkSame(bind);
  return binds.map(({ path }) => path);
}

/** Where something can be mounted. */
async function makePlace({ kind }: OpenedPath, path: string): Promise<void> {
  if (kind === 'folder') await mkdir(path);
  else await writeFile(path, '', { flag: 'wx' });
}

/**
 * The mounts are made in the host's namespace, and appear in this process's by propagation. No program of the host is run. A bind of a
 * shared mount, as the host's root is with systemd, is one of its peers: what is mounted on either appears in the other, and goes with it.
 * So each is bound twice: a private one, or a slave, of which the second makes peers of its own.
 */
async function bindOnHost({ find, shared }: HostNamespace, binds: readonly Bind[], folder: string): Promise<void> {
  if (binds.length === 0) return;
  const pathOnHost = (path: string) => join(shared.hostPath, relative(shared.path, path));
  const both = binds.map(({ opened, propagation, path }) => {
    const first = `${path}${FIRST_BIND}`;
    return { opened, propagation, first, firstOnHost: pathOnHost(first), path: pathOnHost(path) };
  });
  for (const { opened, first } of both) await makePlace(opened, first);
  await using namespace = await open(await find());
  const failure =
    (await mountAll(
      both.flatMap(({ opened, propagation, firstOnHost, path }): readonly Entry[] => [
        { source: opened, target: firstOnHost, propagation: propagation === 'none' ? 'private' : 'slave' },
        { source: firstOnHost, target: path },
      ]),
      folder,
      namespace,
    )) ??
    (await unmountAll(
      both.map(({ firstOnHost }) => firstOnHost),
      namespace,
    ));
  if (failure !== undefined) {
    const message = `a part of what lies on the host (subPath of hostPath or local) cannot be mounted by this node: ${failure}`;
    throw new AgentError('FailedMount', message);
  }
  for (const { opened, first } of both) await (opened.kind === 'folder' ? rmdir(first) : rm(first));
}

/** One process for all: a process for each costs more than the mounts. What it wrote to its error output where it failed. */
async function mountAll(
  entries: readonly Entry[],
  folder: string,
  namespace?: FileHandle,
): Promise<string | undefined> {
  const before = namespace === undefined ? [] : [namespace.fd];
  const fds: number[] = [];
  const nameOf = (source: Entry['source']) =>
    typeof source === 'string' ? source : `/proc/self/fd/${FIRST_FD + before.length + fds.push(source.fd)}`;
  const lines = entries.map(({ source, target, propagation }) => bindEntry(nameOf(source), target, propagation));
  const file = join(folder, TABLE);
  await writeFile(file, lines.join(''));
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
    { fds: [table.fd, ...before, ...fds] },
  );
  return failure?.output;
}

async function unmountAll(paths: readonly string[], namespace: FileHandle): Promise<string | undefined> {
  const args = ['--no-canonicalize', `--namespace=/proc/self/fd/${FIRST_FD}`, ...paths];
  return (await tryProgram('umount', args, { fds: [namespace.fd] }))?.output;
}

/** The last line of defence: the bound path is the object that was opened. */
async function checkSame({ opened, path }: Bind): Promise<void> {
  const [wanted, found] = await Promise.all([opened.stat(), stat(path)]);
  if (wanted.dev === found.dev && wanted.ino === found.ino) return;
  throw new AgentError('FailedMount', `${path} does not show what was bound there`);
}
