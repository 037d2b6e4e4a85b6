import { mkdir, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { followProgram, runProgram } from '../host/run-program.ts';

const NFT = '/usr/sbin/nft';

/** Programs one table of the kernel's packet filter. */
export interface Nft {
  /** Carries out all commands or none. */
  apply(commands: string, signal: AbortSignal): Promise<void>;
  /** All sets of all tables with their elements, as nft prints them. */
  listSets(signal: AbortSignal): Promise<string>;
  /** Reports each change of the table by another program; rejects when that cannot be watched any more. */
  watch(onForeignChange: () => void, signal: AbortSignal): Promise<void>;
}

/**
 * nft under a name of our own: the kernel tells with each change the name of the program that made it, which is how those of others are
 * known. The name is a link in `folder`, and has at most the 15 characters that the kernel keeps.
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

/** Finds changes of one table that another program made, in what `nft monitor` prints. */
export class ChangeWatch {
  readonly #mark: string;
  readonly #own: string;
  readonly #onForeignChange: () => void;
  /** Whether a change of the table was printed since the last generation. Its author comes after it. */
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

  /** `add rule ip TABLE ...`, `delete table ip TABLE`. Sets with dynamic elements change by packets, without a new generation. */
  #names(line: string): boolean {
    const at = line.indexOf(this.#mark);
    if (at < 0 || at > 'delete element'.length) return false;
    const next = line[at + this.#mark.length];
    return next === undefined || next === ' ';
  }
}
