import { mustRun, type Shell } from '../machine/shell.ts';

/**
 * Whether a failure comes from a wrong endpoint count: the engine reports active endpoints on a network of the cluster that
 * has no containers. Engine 20.10 miscounts concurrent changes; a restart of the engine repairs it.
 */
export async function hasMiscountedNetwork(shell: Shell, clusterId: string, failure: unknown): Promise<boolean> {
  if (!(failure instanceof Error && failure.message.includes('has active endpoints'))) return false;
  const label = `label=com.docker.compose.project=${clusterId}`;
  const networks = (await mustRun(shell, 'docker', ['network', 'ls', '-q', '--filter', label]))
    .split('\n')
    .filter(Boolean);
  if (networks.length === 0) return false;
  const format = '{{len .Containers}}';
  const counts = await mustRun(shell, 'docker', ['network', 'inspect', '--format', format, ...networks]);
  return (
    networks.length > 0 &&
    counts
      .trim()
      .split('\n')
      .every((count) => count === '0')
  );
}
