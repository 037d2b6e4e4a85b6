import { join } from 'node:path';
import type { CommandConfig } from '../config.ts';
import { takeProcessLock } from '../machine/process-lock.ts';

/** The right to restore a snapshot of this cluster, until it is disposed of or the process ends; undefined while another process has it. */
export function lockRestore({ home }: Pick<CommandConfig, 'home'>): Disposable | undefined {
  return takeProcessLock(join(home, 'restore.db'));
}

/** The volume in which a restore unpacks its file. One that is killed leaves it, and maybe a container that still copies from it. */
export const unpackedVolume = (clusterId: string): string => `${clusterId}_restore`;
