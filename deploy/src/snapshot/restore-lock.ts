import { join } from 'node:path';
import type { CommandConfig } from '../config.ts';
import { takeProcessLock } from '../machine/process-lock.ts';

/** The right to restore a snapshot of this cluster, until it is disposed of or the process ends; undefined while another process has it. */
export function lockRestore({ home }: Pick<CommandConfig, 'home'>): Disposable | undefined {
  return takeProcessLock(join(home, 'restore.db'));
}

/** The volume in which a restore unpacks its file. One that is killed leaves it, and maybe a container that still copies from it. */
export const unpackedVolume = (clusterId: string): string => `${clusterId}_restore`;

/**
 * Removes that volume. A `docker run` that was killed may have left a container that never started, and a volume that has a container cannot be
 * removed.
 */
export async function removeUnpacked(
  docker: (args: readonly string[]) => Promise<string>,
  clusterId: string,
): Promise<void> {
  const volume = unpackedVolume(clusterId);
  const ended = ['created', 'exited', 'dead'].flatMap((status) => ['--filter', `status=${status}`]);
  const ids = (await docker(['ps', '-aq', ...ended, '--filter', `volume=${volume}`])).split('\n');
  for (const id of ids.filter((one) => one !== '')) await docker(['rm', id]);
  await docker(['volume', 'rm', '-f', volume]);
}
