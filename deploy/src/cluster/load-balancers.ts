import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CommandConfig } from '../config.ts';
import { mustRun, type Shell } from '../machine/shell.ts';

/** The services that are HAProxy with a configuration of deploy/load-balancer. */
const SERVICES = ['load-balancer', 'agent-gateway'];

/** The ids of the load balancers that run. */
export async function runningBalancers(shell: Shell, clusterId: string): Promise<readonly string[]> {
  const found = SERVICES.map(async (service) => {
    const labels = [`com.docker.compose.project=${clusterId}`, `com.docker.compose.service=${service}`];
    const filters = ['status=running', ...labels.map((label) => `label=${label}`)];
    const command = ['ps', '-q', '--no-trunc', ...filters.flatMap((filter) => ['--filter', filter])];
    return (await mustRun(shell, 'docker', command)).split('\n').filter((id) => id !== '');
  });
  return (await Promise.all(found)).flat();
}

/**
 * Makes the load balancers in `kept` read their configuration if it has changed since `up` loaded it; the others have just started with it.
 * HAProxy starts another worker for new connections, and the former one keeps its connections until they end. Returns whether any read it.
 */
export async function loadConfiguration(
  config: CommandConfig,
  shell: Shell,
  kept: readonly string[],
): Promise<boolean> {
  const current = configurationOf(join(config.root, 'deploy/load-balancer'));
  const record = recordOf(config);
  const isLoaded = existsSync(record) && readFileSync(record, 'utf8') === current;
  if (isLoaded) return false;
  for (const id of kept) await mustRun(shell, 'docker', ['kill', '--signal', 'SIGUSR2', id]);
  writeFileSync(record, current);
  return kept.length > 0;
}

export function forgetConfiguration(config: CommandConfig): void {
  rmSync(recordOf(config), { force: true });
}

const recordOf = (config: CommandConfig) => join(config.home, 'load-balancer');

function configurationOf(folder: string): string {
  const hash = createHash('sha256');
  for (const name of readdirSync(folder).toSorted()) hash.update(`${name}\n`).update(readFileSync(join(folder, name)));
  return hash.digest('hex');
}
