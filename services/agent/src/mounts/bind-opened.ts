import { chmod, type FileHandle, mkdir, open, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { AgentError } from '../runtime/agent-error.ts';
import type { BindSource, StateFolder } from '../runtime/host-mounts.ts';
import { bindEntry } from './mount-table.ts';
import { tryProgram } from './run-program.ts';
import type { OpenedPath } from '../runtime/host-files.ts';

/** The file with the fstab entries for mount(8), in the folder of the bound paths. */
const TABLE = 'table';
/** The descriptor number at which a child process finds its first extra descriptor. */
const FIRST_FD = 3;
/** Suffix of the intermediate bind from which the final bind is made. */
const FIRST_BIND = '-first';

/** The mount namespace of the engine's host, for an agent in another namespace. */
export interface HostNamespace {
  /** The path of the namespace. */
  readonly find: () => Promise<string>;
  /** A folder in both namespaces; mounts inside it propagate both ways. */
  readonly shared: StateFolder;
}

interface Bind extends BindSource {
  readonly path: string;
}

/** An fstab entry for mount(8). */
interface Entry {
  /** A path, or an opened file. */
  readonly source: string | OpenedPath;
  readonly target: string;
  readonly propagation?: 'private' | 'slave';
}

/**
 * Binds each source below `folder`, each in its own mount namespace, because the kernel cannot bind files of another namespace. `host` is
 * undefined when this process is in the host's namespace. Needs CAP_SYS_ADMIN; for the host's namespace also CAP_SYS_CHROOT and
 * CAP_SYS_PTRACE.
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

/** Creates the mount point for a file or folder. */
async function makePlace({ kind }: OpenedPath, path: string): Promise<void> {
  if (kind === 'folder') await mkdir(path);
  else await writeFile(path, '', { flag: 'wx' });
}

/**
 * Creates the mounts in the host's namespace; they propagate to this process's namespace. No program of the host is run. With systemd,
 * the host's root is a shared mount, and a bind of a shared mount joins its peer group: later mounts and unmounts would propagate in both
 * directions. So each source is bound twice: the first bind becomes private or slave, and the second bind of it starts its own peer
 * group.
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

/** Makes all mounts with one process, since a process for each would cost more than the mounts. Returns the error output on failure. */
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
      // mount(8) then passes the descriptor's path to the kernel, instead of resolving it to the file's current path.
      '--no-canonicalize',
      '--all',
      // By descriptor, because the file has another path in the namespace that mount(8) enters.
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

/** The final check: the bound path is the object that was opened. */
async function checkSame({ opened, path }: Bind): Promise<void> {
  const [wanted, found] = await Promise.all([opened.stat(), stat(path)]);
  if (wanted.dev === found.dev && wanted.ino === found.ino) return;
  throw new AgentError('FailedMount', `${path} does not show what was bound there`);
}
