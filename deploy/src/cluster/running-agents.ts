import { mustRun, type Shell } from '../machine/shell.ts';

/** A container of the service `agent` that runs. */
export interface RunningAgent {
  readonly name: string;
  /** On the pods' network. */
  readonly address: string;
  /** Unix milliseconds, by the engine's clock. */
  readonly startedAt: number;
}

const LABEL = 'com.docker.compose';

/** The agents of a cluster that run on this engine. */
export async function findRunningAgents(shell: Shell, clusterId: string): Promise<readonly RunningAgent[]> {
  const filters = [
    `label=${LABEL}.project=${clusterId}`,
    `label=${LABEL}.service=agent`,
    `label=${LABEL}.oneoff=False`,
  ];
  const list = ['ps', '-q', '--filter', 'status=running', ...filters.flatMap((filter) => ['--filter', filter])];
  const ids = (await mustRun(shell, 'docker', list)).split('\n').filter((id) => id !== '');
  if (ids.length === 0) return [];
  const address = `{{with index .NetworkSettings.Networks "${clusterId}-pods"}}{{.IPAddress}}{{end}}`;
  const format = ['{{.Name}}', '{{.State.StartedAt}}', address].join('\t');
  // It fails for a container that was removed since, and prints the others all the same.
  const { stdout } = await shell.run('docker', ['inspect', '--format', format, ...ids]);
  return readRunningAgents(stdout);
}

/** Of lines `/NAME`, RFC 3339 time and address, with tabs between them. */
export function readRunningAgents(text: string): readonly RunningAgent[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split('\t'))
    .map(([name = '', startedAt = '', address = '']) => ({
      name: name.replace(/^\//, ''),
      address,
      startedAt: Date.parse(startedAt),
    }))
    .filter(({ address }) => address !== '');
}
