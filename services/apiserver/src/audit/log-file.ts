import { type FileHandle, mkdir, open, readdir, rename, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, errorMessage, formatTime, pause, Signal } from '@gantry/base';
import type { Counter, GroupMember, Logger } from '@gantry/service';

export interface LogFileOptions {
  /** All apiservers of the host share this folder. Each writes its own file. */
  readonly folder: string;
  /** The part of the file name that identifies this server. */
  readonly server: string;
  /** A file that has reached this size is rotated. */
  readonly maxBytes: number;
  /** Maximum number of rotated files in the folder, for all servers together. */
  readonly maxBackups: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Counts queued events. */
  readonly written: Counter;
  /** Counts events that could not be logged. */
  readonly lost: Counter;
}

/** Queues lines, which `member` writes to the file. */
export interface LogFile {
  /** Queues a line without its line break. Never blocks: when the queue is full, lines are dropped and counted. */
  append(line: string): void;
  readonly member: GroupMember;
}

/** Maximum bytes in the queue. It is reached when the disk is full or too slow. */
const MAX_QUEUED = 16 * 1024 * 1024;
const RETRY_MS = 1000;
const PREFIX = 'audit-';
const SUFFIX = '.log';
/** The time in the name of a rotated file: `audit-SERVER-2026-01-02T03-04-05Z.log`. */
const ROTATED = /-\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}Z(\.\d+)?\.log$/;

/** The audit log of one API server: appended in batches, rotated by size. */
export function createLogFile(options: LogFileOptions): LogFile {
  const { clock, logger, written, lost } = options;
  const wake = new Signal();
  let lines: string[] = [];
  let queued = 0;
  const flush = async (file: RotatingFile): Promise<void> => {
    const batch = lines;
    [lines, queued] = [[], 0];
    if (batch.length === 0) return;
    try {
      await file.write(Buffer.from(`${batch.join('\n')}\n`));
    } catch (error) {
      lost.inc({ plugin: 'log' }, batch.length);
      throw error;
    }
  };
  return {
    append: (line) => {
      if (queued > MAX_QUEUED) {
        lost.inc({ plugin: 'log' });
        return;
      }
      lines.push(line);
      queued += line.length;
      written.inc();
      wake.notify();
    },
    member: {
      name: 'audit-log',
      run: async (signal) => {
        const file = new RotatingFile(options);
        const flushLogged = async (): Promise<boolean> => {
          try {
            await flush(file);
            return true;
          } catch (error) {
            logger.error({ reason: errorMessage(error), folder: options.folder }, 'the audit log cannot be written');
            return false;
          }
        };
        while (!signal.aborted) {
          await wake.wait(clock, Infinity, signal);
          if (!(await flushLogged())) await pause(clock, RETRY_MS, signal);
        }
        await flushLogged();
        await file.close();
      },
    },
  };
}

/** A file that is renamed when it is full; then a new file begins. */
class RotatingFile {
  readonly #options: LogFileOptions;
  readonly #path: string;
  #open: { readonly handle: FileHandle; size: number } | undefined;

  constructor(options: LogFileOptions) {
    this.#options = options;
    this.#path = join(options.folder, `${PREFIX}${options.server}${SUFFIX}`);
  }

  async write(bytes: Uint8Array): Promise<void> {
    const file = (this.#open ??= await this.#start());
    if (file.size > 0 && file.size + bytes.length > this.#options.maxBytes) {
      await this.#rotate();
      await this.write(bytes);
      return;
    }
    file.size += bytes.length;
    await file.handle.appendFile(bytes);
  }

  async close(): Promise<void> {
    const file = this.#open;
    this.#open = undefined;
    await file?.handle.close();
  }

  async #start(): Promise<{ readonly handle: FileHandle; size: number }> {
    await mkdir(this.#options.folder, { recursive: true });
    // Only the owner may read the file, since events name users and objects.
    const handle = await open(this.#path, 'a', 0o600);
    return { handle, size: (await handle.stat()).size };
  }

  async #rotate(): Promise<void> {
    await this.close();
    const { clock, folder, server } = this.#options;
    const time = formatTime(clock.now()).replaceAll(':', '-');
    const names = new Set(await readdir(folder));
    const free = (count: number): string => {
      const name = `${PREFIX}${server}-${time}${count === 0 ? '' : `.${count}`}${SUFFIX}`;
      return names.has(name) ? free(count + 1) : name;
    };
    await rename(this.#path, join(folder, free(0)));
    await this.#prune();
  }

  /** Removes the oldest rotated files above the limit, including files of former servers. */
  async #prune(): Promise<void> {
    const { folder, maxBackups } = this.#options;
    const rotated = (await readdir(folder)).filter((name) => name.startsWith(PREFIX) && ROTATED.test(name));
    const aged = await Promise.all(
      rotated.map(async (name) => ({ name, at: (await statOf(join(folder, name)))?.mtimeMs ?? 0 })),
    );
    const surplus = aged.toSorted((one, other) => other.at - one.at).slice(maxBackups);
    await Promise.all(surplus.map(({ name }) => removeFile(join(folder, name))));
  }
}

/** The status of a file; undefined if another server has removed it. */
async function statOf(path: string): Promise<{ readonly mtimeMs: number } | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function removeFile(path: string): Promise<void> {
  try {
    await unlink(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
