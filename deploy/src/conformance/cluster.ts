import { join } from 'node:path';
import type { Clock } from '@gantry/base';
import { kubeconfigOf, openApi } from '../cluster/api.ts';
import { countsOf, openProject } from '../cluster/compose.ts';
import { lookAtNodes, wantedNodes } from '../cluster/readiness.ts';
import { watchRestarts } from '../cluster/restarting-containers.ts';
import { waitUntil } from '../cluster/wait-until.ts';
import type { CommandConfig } from '../config.ts';
import { CommandError } from '../machine/command-error.ts';
import { mustRun, type Shell } from '../machine/shell.ts';
import { readSettings } from '../settings/ensure-settings.ts';

const NODES_MS = 600_000;
const POLL_MS = 500;

/** Starts the cluster of `config` with so many agents and nothing on it, by the project's own `up`. Gives its kubeconfig. */
export async function startCluster(
  config: CommandConfig,
  shell: Shell,
  clock: Clock,
  options: { readonly agents: number; readonly kubectl: string },
  note: (text: string) => void,
): Promise<string> {
  await runScript(config, shell, 'up', note);
  const kubeconfig = kubeconfigOf(config);
  note('removing the sample');
  const sample = join(config.root, 'deploy/samples/nginx-deployment.yaml');
  const remove = ['--kubeconfig', kubeconfig, 'delete', '-f', sample, '--ignore-not-found', '--timeout=120s'];
  await mustRun(shell, options.kubectl, remove);
  const settings = readSettings(config);
  if (settings === undefined) throw new CommandError(`\`up\` left no settings in ${config.home}`);
  const project = openProject(config, settings.clusterId, shell);
  const counts = new Map([...countsOf(await project.containers()), ['agent', options.agents]]);
  await project.up(counts, (line) => note(line.trim()));
  using api = openApi(config);
  const wait = {
    clock,
    what: `${options.agents} nodes`,
    timeoutMs: NODES_MS,
    everyMs: POLL_MS,
    whyInVain: watchRestarts(project),
  };
  const wanted = wantedNodes(shell, settings, options.agents);
  const nodes = await waitUntil(wait, (signal) => lookAtNodes(api, wanted, signal), note);
  note(`${nodes} nodes in ${config.home}`);
  return kubeconfig;
}

/** Removes the cluster and all that its pods left on the engine, by the project's own `down`. */
export async function removeCluster(config: CommandConfig, shell: Shell, note: (text: string) => void): Promise<void> {
  await runScript(config, shell, 'down', note);
}

async function runScript(config: CommandConfig, shell: Shell, name: string, note: (text: string) => void) {
  note(`deploy/bin/${name}`);
  const { code, stdout, stderr } = await shell.run(join(config.root, 'deploy/bin', name), [], {
    env: { GANTRY_HOME: config.home },
    onLine: (line) => note(line.trim()),
  });
  if (code !== 0)
    throw new CommandError(`deploy/bin/${name} failed (${code})`, `${stdout}${stderr}`.trim().slice(-800));
}
