import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { CommandConfig } from '../config.ts';
import { CommandError } from '../machine/command-error.ts';
import { takeProcessLock } from '../machine/process-lock.ts';
import { lockRestore } from '../snapshot/restore-lock.ts';
import { chaosFolder, readJournal } from './journal.ts';

/** The right to make faults at this cluster, until it is disposed of or the process ends. Throws CommandError while another process has it. */
export function takeCampaignLock(config: CommandConfig): Disposable {
  const lock = takeProcessLock(join(chaosFolder(config), 'lock.db'));
  if (lock !== undefined) return lock;
  const pid = readJournal(config)?.pid;
  throw new CommandError(
    `npm run chaos runs on this cluster${pid === undefined ? '' : ` (process ${pid})`}`,
    'end it first: Ctrl-C heals everything',
  );
}

/** Throws CommandError while a campaign runs on this cluster, or a restore that a campaign which was killed had begun. */
export function refuseDuringCampaign(config: CommandConfig): void {
  if (!existsSync(chaosFolder(config))) return;
  using _ = takeCampaignLock(config);
  using restore = lockRestore(config);
  if (restore === undefined) throw new CommandError('a snapshot of this cluster is being restored', 'wait for its end');
}
