import { mkdir, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { followProgram, runProgram } from '../host/run-program.ts';
import { ChangeWatch } from './change-watch.ts';

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
