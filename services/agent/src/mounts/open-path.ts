/**
 * Opens paths that a pod names inside its volume, which the pod may change at any moment, or on the engine's host. Each component is
 * opened relative to its open parent folder, without following links in the kernel. So if a pod replaces a folder by a link, the link is
 * detected. Links are resolved here by the same steps, and only as far as they stay in the volume, or as the host itself would resolve
 * them.
 */
import { constants, type Stats } from 'node:fs';
import { chmod, type FileHandle, mkdir, open, readlink } from 'node:fs/promises';
import { AgentError } from '../runtime/agent-error.ts';
import type { OpenedPath } from '../runtime/host-files.ts';

/** Linux's O_PATH: the descriptor names the file without opening it. So a FIFO does not block, and a device has no side effects. */
const O_PATH = 0o10000000;
const NAME_ONLY = O_PATH | constants.O_NOFOLLOW;
const REFUSED = 'CreateContainerConfigError';
/** The kernel's limit of links in one path. */
const MAX_LINKS = 40;
/** The limit of nested folders. Each folder on the path stays open, and a pod must not use up the agent's descriptors. */
const MAX_DEPTH = 128;
/** The mode of folders that are created on the host. */
const HOST_FOLDER_MODE = 0o755;
/** The limit of path components, including those of all links on the path. */
const MAX_NAMES = 1024;

/** Whether to create a missing component, as a folder with the mode of the volume's root. */
export type Missing = 'create' | 'refuse';

/**
 * Where links may lead. `volume`: only inside the root; devices are refused. `host`: the root is a host's root directory; absolute links
 * start there, and `..` does not leave it.
 */
type Bounds = 'volume' | 'host';

/** Opens a path in which pods cannot change any component. The last component must not be a link. */
export async function openOwned(path: string, namespace: OpenedPath['namespace'] = 'own'): Promise<OpenedPath> {
  const { handle, stats } = await openName(path);
  return await openedOrClosed(handle, stats, path, namespace);
}

/**
 * Opens `subPath` inside `root`. AgentError 'CreateContainerConfigError' when the path leads out of `root`, leads through something that
 * is not a folder, ends at a device, or is missing behind a link. The last case also fails with `create`, since nothing is created
 * through a link.
 */
export async function openBeneath(root: OpenedPath, subPath: string, missing: Missing): Promise<OpenedPath> {
  return await walked(new Walk(root, subPath, missing, 'volume'));
}

/**
 * Opens `path` as a host resolves it whose root directory is `root`. Undefined when it is missing and `missing` is `refuse`. AgentError
 * 'CreateContainerConfigError' for a path that cannot be opened.
 */
export async function openOnHost(root: OpenedPath, path: string, missing: Missing): Promise<OpenedPath | undefined> {
  try {
    return await walked(new Walk(root, path, missing, 'host'));
  } catch (error) {
    if (error instanceof MissingPath) return undefined;
    throw error;
  }
}

/**
 * Opens `path` inside an image whose files begin at `root`. Links resolve as in a container of the image, so they stay in the image.
 * AgentError 'CreateContainerConfigError' for a path that is missing or cannot be opened.
 */
export async function openInImage(root: OpenedPath, path: string): Promise<OpenedPath> {
  return await walked(new Walk(root, path, 'refuse', 'host'));
}

async function walked(walk: Walk): Promise<OpenedPath> {
  try {
    return await walk.toEnd();
  } finally {
    await walk.close();
  }
}

/** Thrown at a component that does not exist. */
class MissingPath extends AgentError {}

/** Resolves one path from a volume's root. Keeps the folders on the path open, since `..` in a link returns to them. */
class Walk {
  readonly #root: OpenedPath;
  readonly #subPath: string;
  readonly #missing: Missing;
  readonly #bounds: Bounds;
  /** Names that still have to be opened, in order. */
  readonly #names: string[];
  /** The open folders from below the root to the current one. */
  readonly #folders: FileHandle[] = [];
  #links = 0;
  #opened = 0;

  constructor(root: OpenedPath, subPath: string, missing: Missing, bounds: Bounds) {
    this.#root = root;
    this.#subPath = subPath;
    this.#missing = missing;
    this.#bounds = bounds;
    this.#names = namesOf(subPath);
  }

  async toEnd(): Promise<OpenedPath> {
    for (let name = this.#names.shift(); name !== undefined; name = this.#names.shift()) {
      this.#opened++;
      if (this.#opened > MAX_NAMES || this.#folders.length >= MAX_DEPTH) throw refused(this.#subPath, 'is too deep');
      if (name === '..') await this.#goBack();
      else {
        const file = await this.#enter(name);
        if (file !== undefined) return file;
      }
    }
    const last = this.#folders.pop();
    const handle = last ?? (await open(`/proc/self/fd/${this.#root.fd}/.`, NAME_ONLY));
    return openedAs(handle, 'folder', this.#root.namespace);
  }

  async close(): Promise<void> {
    for (const handle of this.#folders) await handle.close();
  }

  async #goBack(): Promise<void> {
    const folder = this.#folders.pop();
    if (folder === undefined && this.#bounds === 'volume') throw refused(this.#subPath, 'leads out of its volume');
    await folder?.close();
  }

  /** Enters a folder, or replaces a link by the names of its target. Returns any other file; it must be the last component. */
  async #enter(name: string): Promise<OpenedPath | undefined> {
    const path = this.#pathOf(name);
    const { handle, stats } = await this.#openOrMake(path);
    if (stats.isDirectory()) {
      this.#folders.push(handle);
      return undefined;
    }
    if (!stats.isSymbolicLink() && this.#names.length === 0) {
      if (this.#bounds === 'host') return openedAs(handle, 'file', this.#root.namespace);
      return await openedOrClosed(handle, stats, this.#subPath, this.#root.namespace);
    }
    await handle.close();
    if (!stats.isSymbolicLink()) throw refused(this.#subPath, 'leads through a file');
    await this.#queueLink(path);
    return undefined;
  }

  async #openOrMake(path: string): Promise<{ readonly handle: FileHandle; readonly stats: Stats }> {
    try {
      return await openName(path);
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw unreadable(this.#subPath, error);
    }
    if (this.#missing === 'refuse') throw new MissingPath(REFUSED, describe(this.#subPath, 'does not exist'));
    if (this.#links > 0 && this.#bounds === 'volume') throw refused(this.#subPath, 'does not exist behind a link');
    try {
      await mkdir(path);
    } catch (error) {
      // The pod has created something here in the meantime. Open that; its type is checked.
      if (codeOf(error) !== 'EEXIST') throw unreadable(this.#subPath, error);
    }
    const mode = this.#bounds === 'host' ? HOST_FOLDER_MODE : (await this.#root.stat()).mode;
    const made = await openFolder(path, this.#subPath);
    try {
      // By descriptor: this sets the mode of the opened folder, even if the name now refers to something else.
      await chmod(`/proc/self/fd/${made.handle.fd}`, mode & 0o7777);
    } catch (error) {
      await made.handle.close();
      throw unreadable(this.#subPath, error);
    }
    return made;
  }

  async #queueLink(path: string): Promise<void> {
    this.#links++;
    if (this.#links > MAX_LINKS) throw refused(this.#subPath, 'has too many links');
    const target = await linkTarget(path, this.#subPath);
    if (target.startsWith('/')) {
      if (this.#bounds === 'volume') throw refused(this.#subPath, 'leads out of its volume');
      for (const folder of this.#folders.splice(0)) await folder.close();
    }
    this.#names.unshift(...namesOf(target));
  }

  #pathOf(name: string): string {
    return `/proc/self/fd/${this.#folders.at(-1)?.fd ?? this.#root.fd}/${name}`;
  }
}

function namesOf(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.');
}

async function openName(path: string, flags = 0): Promise<{ readonly handle: FileHandle; readonly stats: Stats }> {
  const handle = await open(path, NAME_ONLY | flags);
  try {
    return { handle, stats: await handle.stat() };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function openFolder(path: string, subPath: string) {
  try {
    return await openName(path, constants.O_DIRECTORY);
  } catch (error) {
    throw unreadable(subPath, error);
  }
}

/** Returns the opened file. Closes and refuses a link or a device. */
async function openedOrClosed(
  handle: FileHandle,
  stats: Stats,
  path: string,
  namespace: OpenedPath['namespace'],
): Promise<OpenedPath> {
  if (stats.isSymbolicLink() || stats.isBlockDevice() || stats.isCharacterDevice()) {
    await handle.close();
    throw refused(path, stats.isSymbolicLink() ? 'is a link' : 'is a device');
  }
  return openedAs(handle, stats.isDirectory() ? 'folder' : 'file', namespace);
}

/** Wraps an open file or folder for binding. Disposing of the result closes it. */
export function openedAs(handle: FileHandle, kind: OpenedPath['kind'], namespace: OpenedPath['namespace']): OpenedPath {
  return { fd: handle.fd, kind, namespace, stat: () => handle.stat(), [Symbol.asyncDispose]: () => handle.close() };
}

async function linkTarget(path: string, subPath: string): Promise<string> {
  try {
    return await readlink(path);
  } catch (error) {
    throw unreadable(subPath, error);
  }
}

function refused(path: string, why: string): AgentError {
  return new AgentError(REFUSED, describe(path, why));
}

function describe(path: string, why: string): string {
  return `path ${JSON.stringify(path)} ${why}`;
}

function unreadable(path: string, cause: unknown): AgentError {
  const message = `path ${JSON.stringify(path)} cannot be opened: ${codeOf(cause) ?? 'unknown error'}`;
  return new AgentError('CreateContainerConfigError', message, { cause });
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
