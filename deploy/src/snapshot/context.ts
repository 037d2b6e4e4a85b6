import { systemClock } from '@gantry/base';
import { openProject, type Project } from '../cluster/compose.ts';
import { createEtcdTools, type EtcdTools, readEtcdLayout } from '../cluster/etcd-tools.ts';
import { type CommandConfig, inheritedEnvironment, readCommandConfig } from '../config.ts';
import { createProgress, type Progress } from '../machine/progress.ts';
import { createShell, mustRun, type Shell } from '../machine/shell.ts';
import { mustReadSettings } from '../settings/ensure-settings.ts';
import { sealingKeyIds } from './snapshot-file.ts';

/** The time limit of each wait. */
export const LIMIT_MS = 600_000;
export const POLL_MS = 500;

/** The cluster of this checkout, and what works on it. */
export interface Context {
  readonly config: CommandConfig;
  readonly clusterId: string;
  readonly project: Project;
  readonly shell: Shell;
  readonly etcd: EtcdTools;
  /** The image of the services, which has a shell and tar. */
  readonly image: string;
  readonly progress: Progress;
}

/** Throws CommandError if this checkout has no cluster. */
export async function openContext(): Promise<Context> {
  const config = readCommandConfig(inheritedEnvironment());
  const shell = createShell(config.root, inheritedEnvironment());
  const { clusterId } = mustReadSettings(config);
  const project = openProject(config, clusterId, shell);
  const composed = await project.compose(['config', '--format', 'json']);
  const { services } = JSON.parse(composed) as {
    readonly services: Readonly<Record<string, { readonly image: string }>>;
  };
  return {
    config,
    clusterId,
    project,
    shell,
    etcd: createEtcdTools(shell, clusterId, readEtcdLayout(composed)),
    image: services['apiserver']?.image ?? '',
    progress: createProgress(systemClock, (text) => process.stdout.write(text)),
  };
}

/** Runs a shell command as root in a container of the service image, with these mounts and no network. */
export function inContainer({ shell, image }: Context, mounts: readonly string[], command: string): Promise<string> {
  const volumes = mounts.flatMap((mount) => ['-v', mount]);
  const rights = ['--network', 'none', '--user', '0'];
  return mustRun(shell, 'docker', ['run', '--rm', ...rights, ...volumes, image, 'sh', '-ec', command]);
}

/** The names of the cluster's volumes with keys. */
export async function keyVolumes({ shell, clusterId }: Context): Promise<readonly string[]> {
  const text = await mustRun(shell, 'docker', ['volume', 'ls', '-q', '--filter', `name=^${clusterId}_pki-`]);
  return text.split('\n').filter((line) => line !== '');
}

/** Ids of the cluster's sealing keys; none if it has lost them. */
export async function presentSealingKeys(context: Context): Promise<readonly string[]> {
  const volume = `${context.clusterId}_pki-sealing`;
  if (!(await keyVolumes(context)).includes(volume)) return [];
  const command = '[ ! -e /keys/keys.json ] || cat /keys/keys.json';
  return sealingKeyIds(await inContainer(context, [`${volume}:/keys:ro`], command));
}
