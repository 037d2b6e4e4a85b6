import { mustRun, type Shell } from '../machine/shell.ts';

/** The name that the engine gives a volume without one. */
const WITHOUT_NAME = /^[0-9a-f]{64}$/;
const NAMES = '{{range .Mounts}}{{if eq .Type "volume"}}{{println .Name}}{{end}}{{end}}';

/**
 * The volumes that a service's containers have for themselves: those without a name. `docker rm --volumes` leaves the ones that Compose
 * has taken over from a container that it replaced.
 */
export async function findOwnVolumes(shell: Shell, project: string, service: string): Promise<readonly string[]> {
  const labels = [`com.docker.compose.project=${project}`, `com.docker.compose.service=${service}`];
  const filters = labels.flatMap((label) => ['--filter', `label=${label}`]);
  const containers = lines(await mustRun(shell, 'docker', ['ps', '-aq', ...filters]));
  if (containers.length === 0) return [];
  const mounted = await mustRun(shell, 'docker', ['inspect', '--format', NAMES, ...containers]);
  return lines(mounted).filter((name) => WITHOUT_NAME.test(name));
}

function lines(text: string): readonly string[] {
  return text.split('\n').filter((line) => line !== '');
}
