import type { Clock } from '@gantry/base';
import { mustRun, type Shell } from '../machine/shell.ts';
import { waitUntil } from './wait-until.ts';

/** Containers of one command. */
const AT_ONCE = 50;
/** An engine gives a kill up after ten seconds, in which a busy machine may not end the processes; they end later. */
const REMOVAL_MS = 300_000;
const REMOVE_EVERY_MS = 100;

/**
 * Removes containers, networks and volumes with this cluster's label. Returns the number of containers. Containers that the engine
 * cannot remove yet are removed again, for five minutes at most.
 */
export async function removePodLeftovers(
  shell: Shell,
  clock: Clock,
  clusterId: string,
  onNote: (text: string) => void,
): Promise<number> {
  const filter = ['--filter', `label=gantry.cluster=${clusterId}`];
  const find = () => ids(shell, ['ps', '-aq', ...filter]);
  const containers = await find();
  const wait = { clock, what: "the removal of pods' containers", timeoutMs: REMOVAL_MS, everyMs: REMOVE_EVERY_MS };
  await waitUntil(
    wait,
    async () => {
      const left = await find();
      if (left.length === 0) return { done: true, value: undefined };
      const { stderr } = await shell.run('docker', ['rm', '-f', '-v', ...left.slice(0, AT_ONCE)]);
      return { done: false, missing: stderr.trim().split('\n').at(-1) || `removing ${left.length}` };
    },
    onNote,
  );
  const networks = await ids(shell, ['network', 'ls', '-q', ...filter]);
  if (networks.length > 0) await mustRun(shell, 'docker', ['network', 'rm', ...networks]);
  const volumes = await ids(shell, ['volume', 'ls', '-q', ...filter]);
  if (volumes.length > 0) await mustRun(shell, 'docker', ['volume', 'rm', '-f', ...volumes]);
  return containers.length;
}

async function ids(shell: Shell, args: readonly string[]): Promise<readonly string[]> {
  return (await mustRun(shell, 'docker', args)).split('\n').filter((id) => id !== '');
}
