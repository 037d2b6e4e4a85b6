import { mustRun, type Shell } from '../machine/shell.ts';

/** Removes containers, networks and volumes with this cluster's label. Returns the number of containers. */
export async function removePodLeftovers(shell: Shell, clusterId: string): Promise<number> {
  const filter = ['--filter', `label=gantry.cluster=${clusterId}`];
  const containers = await ids(shell, ['ps', '-aq', ...filter]);
  for (let i = 0; i < containers.length; i += 50) {
    await mustRun(shell, 'docker', ['rm', '-f', '-v', ...containers.slice(i, i + 50)]);
  }
  const networks = await ids(shell, ['network', 'ls', '-q', ...filter]);
  if (networks.length > 0) await mustRun(shell, 'docker', ['network', 'rm', ...networks]);
  const volumes = await ids(shell, ['volume', 'ls', '-q', ...filter]);
  if (volumes.length > 0) await mustRun(shell, 'docker', ['volume', 'rm', '-f', ...volumes]);
  return containers.length;
}

async function ids(shell: Shell, args: readonly string[]): Promise<readonly string[]> {
  return (await mustRun(shell, 'docker', args)).split('\n').filter((id) => id !== '');
}
