import { type Shell, withLimit } from '../machine/shell.ts';
import type { ServiceContainer } from './compose.ts';

/** As the limit of a check in `docker-compose.yml`. */
const CHECK_MS = 5_000;

/** The command of a health check, from a container's configuration; undefined if it has none. */
export function healthCommand(test: readonly string[] | undefined): readonly string[] | undefined {
  const [kind, ...check] = test ?? [];
  if (kind === undefined || kind === 'NONE') return undefined;
  return kind === 'CMD-SHELL' ? ['sh', '-c', ...check] : check;
}

/**
 * The containers, with what the health checks of those that run and are `asked` say now: the engine's own results are up to a minute old. One
 * that the engine calls `starting` has time until its check succeeds.
 */
export async function withHealthNow(
  shell: Shell,
  containers: readonly ServiceContainer[],
  isAsked: (container: ServiceContainer) => boolean,
): Promise<readonly ServiceContainer[]> {
  const asked = containers.filter((one) => one.state === 'running' && one.health !== '' && isAsked(one));
  if (asked.length === 0) return containers;
  const limited = withLimit(shell, CHECK_MS);
  const now = new Map(
    await Promise.all(
      asked.map(async ({ name, health }) => {
        const test = await shell.run('docker', ['inspect', '-f', '{{json .Config.Healthcheck.Test}}', name]);
        // It may be gone by now.
        const command = test.code === 0 ? healthCommand(JSON.parse(test.stdout) as readonly string[]) : undefined;
        if (command === undefined) return [name, health] as const;
        const { code } = await limited.run('docker', ['exec', name, ...command]);
        return [name, code === 0 ? 'healthy' : health === 'starting' ? health : 'unhealthy'] as const;
      }),
    ),
  );
  return containers.map((one) => ({ ...one, health: now.get(one.name) ?? one.health }));
}
