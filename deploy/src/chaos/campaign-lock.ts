import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { CommandConfig } from '../config.ts';
import { CommandError } from '../machine/command-error.ts';
import { chaosFolder, readJournal } from './journal.ts';

const BUSY = 5;

/**
 * The right to make faults at this cluster, until it is disposed of or the process ends. A file alone cannot tell a process that was killed
 * from one that runs, and two that start together would both find none; SQLite's lock is one of the operating system. Throws CommandError
 * while another process has it.
 */
export function takeCampaignLock(config: CommandConfig): Disposable {
  const folder = chaosFolder(config);
  mkdirSync(folder, { recursive: true });
  const database = new DatabaseSync(join(folder, 'lock.db'));
  try {
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if ((error as { readonly errcode?: number }).errcode !== BUSY) throw error;
    const pid = readJournal(config)?.pid;
    throw new CommandError(
      `npm run chaos runs on this cluster${pid === undefined ? '' : ` (process ${pid})`}`,
      'end it first: Ctrl-C heals everything',
    );
  }
  return { [Symbol.dispose]: () => database.close() };
}

/** Throws CommandError while a campaign runs on this cluster. */
export function refuseDuringCampaign(config: CommandConfig): void {
  if (!existsSync(chaosFolder(config))) return;
  using _ = takeCampaignLock(config);
}
