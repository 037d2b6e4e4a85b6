import { mkdir, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { followProgram, runProgram } from '../host/run-program.ts';

const NFT = '/usr/sbin/nft';

/** Programs one table of the kernel's packet filter. */
export interface Nft {
  /** Runs all commands or none. */
  apply(commands: string, signal: AbortSignal): Promise<void>;
  /** Returns all sets of all tables with their elements, as nft prints them. */
  listSets(signal: AbortSignal): Promise<string>;
  /** Reports each change of the table by another program. Rejects if this cannot be watched any more. */
  watch(onForeignChange: () => void, signal: AbortSignal): Promise<void>;
}

/**
 * Runs nft under a name of our own. With each change the kernel reports the name of the program that made it. So we recognize changes by
 * other programs. The name is a link in `folder`. It has at most 15 characters, because the kernel keeps no more.
 */
export async function openNft(folder: string, table: string): Promise<Nft> {
  const name = `gpx-${table.slice(-11)}`;
  const program = join(folder, name);
  await mkdir(folder, { recursive: true });
  await rm(program, { force: true });
  await symlink(NFT, program);
  return {
    apply: async (commands, signal) => {
      await runProgram(program, ['-f', '-'], signal, commands);
    },
    listSets: async (signal) => await runProgram(NFT, ['list', 'sets'], signal),
    watch: async (onForeignChange, signal) => {
      const changes = new ChangeWatch(table, name, onForeignChange);
      await followProgram(NFT, ['monitor'], (line) => changes.take(line), signal);
    },
  };
}

const GENERATION = /^# new generation \d+ by process \d+ \((.*)\)$/;

/** Finds changes of one table by other programs in the output of `nft monitor`. */
export class ChangeWatch {
  readonly #mark: string;
  readonly #own: string;
  readonly #onForeignChange: () => void;
  /** Whether a change of the table was printed since the last generation. The author is printed after the change. */
  #isTouched = false;

  constructor(table: string, own: string, onForeignChange: () => void) {
    this.#mark = ` ip ${table}`;
    this.#own = own;
    this.#onForeignChange = onForeignChange;
  }

  take(line: string): void {
    const author = GENERATION.exec(line)?.[1];
    if (author === undefined) {
      this.#isTouched ||= this.#names(line);
      return;
    }
    if (this.#isTouched && author !== this.#own) this.#onForeignChange();
    this.#isTouched = false;
  }

  /** Matches `add rule ip TABLE ...` and `delete table ip TABLE`. Packets change sets with dynamic elements without a new generation. */
  #names(line: string): boolean {
    const at = line.indexOf(this.#mark);
    if (at < 0 || at > 'delete element'.length) return false;
    const next = line[at + this.#mark.length];
    return next === undefined || next === ' ';
  }
}
