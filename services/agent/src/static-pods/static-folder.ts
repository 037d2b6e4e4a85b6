import { type FSWatcher, watch } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, errorMessage, pause, Signal } from '@gantry/base';
import type { EventRecorder } from '@gantry/controller-runtime';
import { formatKey, keyOf, type Pod } from '@gantry/objects';
import type { Logger } from '@gantry/service';
import { namesIn, readRegularFile } from '../files/if-there.ts';
import { readManifest } from './read-manifest.ts';
import { nodeReference } from '../spec/pod-names.ts';

/** The kubelet's interval (fileCheckFrequency), in addition to the changes that the kernel reports. */
const CHECK_MS = 20_000;
/** How long to wait after a change, so that a file that is being written is complete. */
const QUIET_MS = 200;
const MAX_FILE_BYTES = 10 * 2 ** 20;

export interface StaticFolderOptions {
  readonly folder: string;
  readonly node: string;
  /** Receives the pods of the folder each time it was read. */
  readonly onPods: (pods: readonly Pod[]) => void;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** File system calls, replaceable in tests. They throw when the kernel refuses. */
export interface FolderIo {
  watch(path: string, options: { readonly persistent: false }, listener: () => void): FSWatcher;
  readonly readFile: typeof readRegularFile;
}

/** The state of a file at its last read: its content, or the reason why it could not be read. */
interface Known {
  readonly content: Buffer | string;
  readonly pod: Pod | undefined;
}

/** Errors that are not caused by the file: the agent or its machine lacks resources. */
const SHORTAGES: readonly (string | undefined)[] = ['EMFILE', 'ENFILE', 'ENOMEM'];

/**
 * The folder of a node's static pods, with one pod per file; names that begin with a dot are ignored. A file without a valid pod is
 * reported once, in the log and as an Event of the Node, and is skipped.
 */
export class StaticFolder {
  readonly #options: StaticFolderOptions;
  readonly #io: FolderIo;
  #files: ReadonlyMap<string, Known> = new Map();
  readonly #work = new Signal();

  constructor(options: StaticFolderOptions, io: Partial<FolderIo> = {}) {
    this.#options = options;
    this.#io = { watch, readFile: readRegularFile, ...io };
  }

  /** Reads the folder until `signal` is aborted: at first, after each change, and at intervals. */
  async run(signal: AbortSignal): Promise<void> {
    const { folder, clock, logger } = this.#options;
    await mkdir(folder, { recursive: true });
    const watcher = this.#watch();
    try {
      while (!signal.aborted) {
        try {
          await this.read();
        } catch (error) {
          logger.warn({ folder, reason: errorMessage(error) }, 'cannot read the folder of static pods');
        }
        await this.#work.wait(clock, CHECK_MS, signal);
        await pause(clock, QUIET_MS, signal);
      }
    } finally {
      watcher?.close();
    }
  }

  /**
   * Undefined when the kernel cannot watch the folder, such as at the limit of inotify instances. The folder is then read only at
   * intervals.
   */
  #watch(): FSWatcher | undefined {
    const { folder, logger } = this.#options;
    const warn = (error: unknown) =>
      logger.warn(
        { folder, reason: errorMessage(error) },
        'watching static pods failed: changes are found at intervals',
      );
    try {
      return this.#io.watch(folder, { persistent: false }, this.#work.notify).on('error', warn);
    } catch (error) {
      warn(error);
      return undefined;
    }
  }

  /** Reads the folder once. Rejects when the folder exists but cannot be read; the pods then stay unchanged. */
  async read(): Promise<void> {
    const { folder, onPods } = this.#options;
    this.#work.clear();
    const names = (await namesIn(folder)).filter((name) => !name.startsWith('.')).toSorted();
    const files = new Map<string, Known>();
    for (const name of names) {
      const known = await this.#readFile(join(folder, name));
      if (known !== undefined) files.set(join(folder, name), known);
    }
    this.#files = files;
    // If two files have a pod of the same name, the later file counts, as in the kubelet.
    const pods = new Map(
      [...files.values()].flatMap(({ pod }) => (pod === undefined ? [] : [[formatKey(keyOf(pod)), pod]])),
    );
    onPods([...pods.values()]);
  }

  /** While a file is unchanged, its pod stays the same object: workers compare versions by identity. */
  async #readFile(path: string): Promise<Known | undefined> {
    const content = await this.#contentOf(path);
    if (content === undefined) return undefined;
    const before = this.#files.get(path);
    if (before !== undefined && isSame(before.content, content)) return before;
    if (typeof content !== 'string') return { content, pod: await this.#parse(path, content) };
    this.#report(path, content);
    return { content, pod: undefined };
  }

  /**
   * Undefined when the file is gone or not regular. A string is the reason why it cannot be read; like in the kubelet, the other files
   * are still read.
   */
  async #contentOf(path: string): Promise<Buffer | string | undefined> {
    try {
      const content = await this.#io.readFile(path, MAX_FILE_BYTES);
      if (content === 'too-large') return `it has more than ${MAX_FILE_BYTES} bytes`;
      return content === 'other' ? undefined : content;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT') return undefined;
      if (SHORTAGES.includes(code)) throw error;
      return errorMessage(error);
    }
  }

  async #parse(path: string, text: Buffer): Promise<Pod | undefined> {
    const { node, clock } = this.#options;
    try {
      const { pod, warnings } = await readManifest(text, { node, path, now: clock.now() });
      for (const warning of warnings) this.#report(path, warning);
      return pod;
    } catch (error) {
      this.#report(path, errorMessage(error));
      return undefined;
    }
  }

  #report(path: string, reason: string): void {
    const { node, events, logger } = this.#options;
    logger.warn({ path, reason }, 'a file of static pods has a fault');
    events.event(nodeReference(node), 'Warning', 'InvalidStaticPod', `static pod file ${path}: ${reason}`);
  }
}

function isSame(one: Buffer | string, other: Buffer | string): boolean {
  return typeof one === 'string' || typeof other === 'string' ? one === other : one.equals(other);
}
