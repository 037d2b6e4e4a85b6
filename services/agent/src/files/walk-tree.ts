import { constants, type Dirent, type Stats } from 'node:fs';
import { type FileHandle, open, opendir } from 'node:fs/promises';

/** Linux's O_PATH: the descriptor names the file without opening it. So a FIFO does not block, and a device has no side effects. */
export const NAME_ONLY = 0o10000000 | constants.O_NOFOLLOW;
const FOLDER = NAME_ONLY | constants.O_DIRECTORY;

/** Limits of a walk, because a pod must not use up the agent's descriptors and memory. */
export interface WalkLimits {
  /** Folders on the path that stay open. A deeper one is found again by `..`. */
  readonly open: number;
  /** Names of folders that wait to be entered. Further ones are read again later. */
  readonly waiting: number;
}

const LIMITS: WalkLimits = { open: 128, waiting: 65_536 };
/** Entries that one call to the kernel returns. */
const LISTED_AT_ONCE = 256;

/** Called for the entries that a walk finds. Paths are bytes, because names need not be UTF-8. They are valid until the next call. */
export interface TreeVisitor {
  /** For an entry that is no folder. The pod may have replaced it since. */
  readonly file: (path: Buffer) => Promise<void>;
  /** For an open folder below the root, before its content. */
  readonly folder: (folder: OpenFolder, stats: Stats) => Promise<'enter' | 'skip'>;
  /** For an entered folder, after its content. */
  readonly left?: (folder: OpenFolder) => Promise<void>;
}

/** An open folder; the descriptor may only name it (O_PATH). */
export interface OpenFolder {
  readonly fd: number;
}

/**
 * Visits the content of an open folder, at any depth, until `until` is aborted. Pods may change it meanwhile: links are not followed, and
 * removed entries are skipped. Its memory is limited, except that a level of nested folders costs its name and 40 bytes: a fraction of
 * what the level costs on the disk.
 */
export async function walkTree(
  root: OpenFolder,
  visitor: TreeVisitor,
  until: AbortSignal,
  limits: WalkLimits = LIMITS,
): Promise<void> {
  const walk = new TreeWalk(root, visitor, until, limits);
  try {
    await walk.toEnd();
  } finally {
    await walk.close();
  }
}

/** The path of an entry of an open folder. */
function pathIn({ fd }: OpenFolder, name: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(`/proc/self/fd/${fd}/`), name]);
}

/** Opens a path by its name only; undefined when nothing is there, or with FOLDER something else. */
export async function openIfThere(path: string | Buffer, flags = NAME_ONLY): Promise<FileHandle | undefined> {
  try {
    return await open(path, flags);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}

/** Names of folders of one level that were read and are not entered yet. */
interface Waiting {
  readonly names: readonly Uint8Array[];
  next: number;
}

/** The folders between the root (level 0, not stored) and the current one. Numbers and bytes, since a pod decides how many there are. */
class Path {
  readonly #devices: number[] = [];
  readonly #inodes: number[] = [];
  readonly #ends: number[] = [];
  #names = Buffer.alloc(1024);

  get depth(): number {
    return this.#ends.length;
  }

  push(name: Uint8Array, { dev, ino }: Stats): void {
    const start = this.#ends.at(-1) ?? 0;
    const end = start + name.length;
    if (end > this.#names.length)
      this.#names = Buffer.concat([this.#names, Buffer.alloc(this.#names.length + name.length)]);
    this.#names.set(name, start);
    this.#ends.push(end);
    this.#devices.push(dev);
    this.#inodes.push(ino);
  }

  cut(depth: number): void {
    for (const all of [this.#devices, this.#inodes, this.#ends]) all.length = depth;
  }

  /** The name of the folder at a level. */
  nameAt(level: number): Uint8Array {
    return this.#names.subarray(this.#ends[level - 2] ?? 0, this.#ends[level - 1]);
  }

  /** Whether it is the folder at a level, which the pod may have moved. */
  isAt(level: number, { dev, ino }: Stats): boolean {
    return this.#devices[level - 1] === dev && this.#inodes[level - 1] === ino;
  }
}

/** One walk: first all files of a folder, then its folders one after another. */
class TreeWalk {
  readonly #root: OpenFolder;
  readonly #visitor: TreeVisitor;
  readonly #until: AbortSignal;
  readonly #limits: WalkLimits;
  readonly #path = new Path();
  /** The open folders of the first levels. */
  readonly #outer: FileHandle[] = [];
  /** The current folder if it is deeper than those. */
  #deep: FileHandle | undefined;
  /** By level, outermost first. */
  readonly #waiting = new Map<number, Waiting>();
  #waitingNames = 0;
  /** By level: how many folders were entered. */
  readonly #entered: number[] = [0];
  /** Levels with further folders, whose names must be read again. */
  readonly #unread = new Set<number>();

  constructor(root: OpenFolder, visitor: TreeVisitor, until: AbortSignal, limits: WalkLimits) {
    this.#limits = limits;
    this.#root = root;
    this.#visitor = visitor;
    this.#until = until;
  }

  async toEnd(): Promise<void> {
    await this.#list('first');
    while (!this.#until.aborted) {
      const name = await this.#nextName();
      if (name !== undefined) await this.#enter(name);
      else if (this.#path.depth === 0) return;
      else await this.#leave();
    }
  }

  async close(): Promise<void> {
    for (const folder of this.#outer) await folder.close();
    await this.#deep?.close();
  }

  get #current(): OpenFolder {
    return this.#deep ?? this.#outer.at(-1) ?? this.#root;
  }

  async #nextName(): Promise<Uint8Array | undefined> {
    const level = this.#path.depth;
    if (!this.#waiting.has(level) && this.#unread.has(level)) await this.#list('again');
    const waiting = this.#waiting.get(level);
    const name = waiting?.names[waiting.next];
    if (waiting === undefined || name === undefined) return undefined;
    waiting.next++;
    this.#waitingNames--;
    this.#entered[level] = (this.#entered[level] ?? 0) + 1;
    if (waiting.next === waiting.names.length) this.#waiting.delete(level);
    return name;
  }

  /** Reads the current folder. `first`: all, with its files. `again`: the names of folders that were not entered yet. */
  async #list(time: 'first' | 'again'): Promise<void> {
    const level = this.#path.depth;
    const folder = this.#current;
    const names: Uint8Array[] = [];
    let left = time === 'first' ? 0 : (this.#entered[level] ?? 0);
    this.#unread.delete(level);
    for await (const entry of entriesOf(folder)) {
      if (this.#until.aborted) return;
      if (!entry.isDirectory()) {
        if (time === 'first') await this.#visitor.file(pathIn(folder, entry.name));
      } else if (left > 0) left--;
      else if (this.#makesRoom()) {
        names.push(entry.name);
        this.#waitingNames++;
      } else {
        this.#unread.add(level);
        if (time === 'again') break;
      }
    }
    if (names.length > 0) this.#waiting.set(level, { names, next: 0 });
  }

  /** Forgets the names of the outermost folder that has some, if there are too many. It is read again when the walk is back there. */
  #makesRoom(): boolean {
    if (this.#waitingNames < this.#limits.waiting) return true;
    const [outermost] = this.#waiting.keys();
    if (outermost === undefined) return false;
    this.#forgetNames(outermost);
    this.#unread.add(outermost);
    return true;
  }

  #forgetNames(level: number): void {
    const waiting = this.#waiting.get(level);
    if (waiting !== undefined) this.#waitingNames -= waiting.names.length - waiting.next;
    this.#waiting.delete(level);
  }

  async #enter(name: Uint8Array): Promise<void> {
    const folder = await openIfThere(pathIn(this.#current, name), FOLDER);
    if (folder === undefined) return;
    const before = this.#deep;
    try {
      const stats = await folder.stat();
      if ((await this.#visitor.folder(folder, stats)) === 'skip') {
        await folder.close();
        return;
      }
      this.#path.push(name, stats);
    } catch (error) {
      await folder.close();
      throw error;
    }
    this.#entered.push(0);
    if (this.#path.depth <= this.#limits.open) this.#outer.push(folder);
    else this.#deep = folder;
    await before?.close();
    await this.#list('first');
  }

  async #leave(): Promise<void> {
    await this.#visitor.left?.(this.#current);
    const level = this.#path.depth - 1;
    const left = this.#deep ?? this.#outer.pop();
    this.#deep = undefined;
    try {
      if (left !== undefined && level > this.#limits.open) this.#deep = await this.#openParent(left, level);
    } finally {
      await left?.close();
    }
    if (level > this.#limits.open && this.#deep === undefined) await this.#findAgain(level);
    else this.#cut(level);
  }

  /** The parent of a folder, if that is still the folder at this level. */
  async #openParent(folder: OpenFolder, level: number): Promise<FileHandle | undefined> {
    const parent = await openIfThere(pathIn(folder, Buffer.from('..')), FOLDER);
    if (parent === undefined || this.#path.isAt(level, await parent.stat())) return parent;
    await parent.close();
    return undefined;
  }

  /** Goes by the names from the innermost folder that is open, as far as the pod has not moved folders on the way. */
  async #findAgain(level: number): Promise<void> {
    let found = this.#limits.open;
    while (found < level) {
      const folder = await openIfThere(pathIn(this.#current, this.#path.nameAt(found + 1)), FOLDER);
      if (folder === undefined) break;
      if (!this.#path.isAt(found + 1, await folder.stat())) {
        await folder.close();
        break;
      }
      await this.#deep?.close();
      this.#deep = folder;
      found++;
    }
    this.#cut(found);
  }

  #cut(depth: number): void {
    for (let level = this.#path.depth; level > depth; level--) {
      this.#forgetNames(level);
      this.#unread.delete(level);
    }
    this.#entered.length = depth + 1;
    this.#path.cut(depth);
  }
}

/** A folder that is removed meanwhile has no more entries. */
async function* entriesOf(folder: OpenFolder): AsyncIterable<Dirent<Buffer>> {
  // The types know only text.
  const options = { encoding: 'buffer' as BufferEncoding, bufferSize: LISTED_AT_ONCE };
  try {
    for await (const entry of await opendir(pathIn(folder, Buffer.from('.')), options)) {
      yield entry as unknown as Dirent<Buffer>;
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
