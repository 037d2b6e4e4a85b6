/**
 * Opens what a pod names inside its volume, which the pod itself may change at any moment, or on the engine's host. Each component is opened relative
 * to the open folder before it, and the kernel follows no link: a swap of a folder for a link is met as a link. Links are
 * resolved here, by the same steps: only as far as they stay in the volume, or as the host itself resolves them.
 */
import { constants, type Stats } from 'node:fs';
import { chmod, type FileHandle, mkdir, open, readlink } from 'node:fs/promises';
import { AgentError } from '../runtime/agent-error.ts';
import type { OpenedPath } from '../runtime/host-files.ts';

/** Linux's O_PATH: the descriptor names the object and opens nothing, so a FIFO does not block and a device does not act. */
const O_PATH = 0o10000000;
const NAME_ONLY = O_PATH | constants.O_NOFOLLOW;
const REFUSED = 'CreateContainerConfigError';
/** As many links as the kernel follows in one path. */
const MAX_LINKS = 40;
/** Each folder on the way stays open, so a pod could use up the agent's descriptors. */
const MAX_DEPTH = 128;
/** Of folders that are made on the host. */
const HOST_FOLDER_MODE = 0o755;
/** Names of all links on the way together. */
const MAX_NAMES = 1024;

/** Whether a component that is missing is made, as a folder with the mode of the volume's root. */
export type Missing = 'create' | 'refuse';

/**
 * Where links may lead. `volume`: to what is inside the root, and devices are refused. `host`: the root is that of a host's file
 * system, absolute links begin there again, and `..` stays there.
 */
type Bounds = 'volume' | 'host';

/** Opens a folder or file at a path in which no pod can change a component. Its last component must not be a link. */
export async function openOwned(path: string, namespace: OpenedPath['namespace'] = 'own'): Promise<OpenedPath> {
  const { handle, stats } = await openName(path);
  return await openedOrClosed(handle, stats, path, namespace);
}

/**
 * Opens `subPath` inside `root`. AgentError 'CreateContainerConfigError' when it leads out of `root`, leads through something
 * that is no folder, or ends at a device; when it is missing behind a link, even with `create`: nothing is made through a link.
 */
export async function openBeneath(root: OpenedPath, subPath: string, missing: Missing): Promise<OpenedPath> {
  return await walked(new Walk(root, subPath, missing, 'volume'));
}

/**
 * Opens `path` as a host resolves it whose file system begins at `root`. Undefined when it is missing and not to be created.
 * AgentError 'CreateContainerConfigError' for a path that cannot be opened.
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
 * Opens `path` inside an image whose files begin at `root`: as a container of the image resolves it, so that links stay in the image.
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

/** The end of a walk at a component that does not exist. */
class MissingPath extends AgentError {}

/** One walk from a volume's root. The open folders on the way are kept, since `..` of a link goes back to them. */
class Walk {
  readonly #root: OpenedPath;
  readonly #subPath: string;
  readonly #missing: Missing;
  readonly #bounds: Bounds;
  /** Names that are still to be opened, in order. */
  readonly #names: string[];
  /** The folders from below the root to the current one. */
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

  /** Goes into a folder or replaces a link by the names of its target. What is neither is returned: it must be the end. */
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
      // The pod has made something there in the meantime: it is opened as what it is.
      if (codeOf(error) !== 'EEXIST') throw unreadable(this.#subPath, error);
    }
    const mode = this.#bounds === 'host' ? HOST_FOLDER_MODE : (await this.#root.stat()).mode;
    const made = await openFolder(path, this.#subPath);
    try {
      // Through the descriptor: the mode belongs to what was opened, not to what has the name now.
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

/** What was opened. A link or a device is closed and refused. */
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

/** What an open file or folder is to those who bind it. It is closed with the result. */
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
