import { mustRun, type Shell } from '../machine/shell.ts';

/**
 * Whether a failure is that of an engine which counts endpoints on one of the cluster's networks although no container is on
 * any of them: engine 20.10 loses count when endpoints come and go at once, and finds it again only when it starts.
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
