import { ENDED_BY_LIMIT, type Shell, withLimit } from '../machine/shell.ts';
import type { ServiceContainer } from './compose.ts';

/** Checks end within 5 s by themselves. On a busy machine, the engine takes long to start one. */
const CHECK_MS = 20_000;
/** As `retries` in `docker-compose.yml`: so many failures in a row make a container unhealthy. */
const FAILURES = 2;

/** The command of a health check, from a container's configuration; undefined if it has none. */
export function healthCommand(test: readonly string[] | undefined): readonly string[] | undefined {
  const [kind, ...check] = test ?? [];
  if (kind === undefined || kind === 'NONE') return undefined;
  return kind === 'CMD-SHELL' ? ['sh', '-c', ...check] : check;
}

/**
 * The containers, with what the health checks of those that run and are `asked` say now: the engine's own results are up to a minute old. One
 * that the engine calls `starting` has time until its check succeeds. Where no check ends in time, what the engine said stays.
 */
export async function withHealthNow(
  shell: Shell,
  containers: readonly ServiceContainer[],
  isAsked: (container: ServiceContainer) => boolean,
): Promise<readonly ServiceContainer[]> {
  const asked = containers.filter((one) => one.state === 'running' && one.health !== '' && isAsked(one));
  if (asked.length === 0) return containers;
  const now = new Map(await Promise.all(asked.map(async (one) => [one.name, await healthNow(shell, one)] as const)));
  return containers.map((one) => ({ ...one, health: now.get(one.name) ?? one.health }));
}

async function healthNow(shell: Shell, { name, health }: ServiceContainer): Promise<string> {
  const limited = withLimit(shell, CHECK_MS);
  const test = await limited.run('docker', ['inspect', '-f', '{{json .Config.Healthcheck.Test}}', name]);
  // It may be gone by now.
  const command = test.code === 0 ? healthCommand(JSON.parse(test.stdout) as readonly string[]) : undefined;
  if (command === undefined) return health;
  for (let failures = 0; failures < FAILURES; failures++) {
    const { code, stderr } = await limited.run('docker', ['exec', name, ...command]);
    if (code === 0) return 'healthy';
    if (stderr.endsWith(ENDED_BY_LIMIT)) return health;
  }
  return health === 'starting' ? health : 'unhealthy';
}
