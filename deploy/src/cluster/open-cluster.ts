import { systemClock } from '@gantry/base';
import { type CommandConfig, inheritedEnvironment, readCommandConfig } from '../config.ts';
import { createProgress, type Progress } from '../machine/progress.ts';
import { createShell, type Shell } from '../machine/shell.ts';
import { mustReadSettings } from '../settings/ensure-settings.ts';
import { openProject, type Project } from './compose.ts';
import { createEtcdTools, type EtcdTools, readEtcdLayout } from './etcd-tools.ts';

/** The cluster of this checkout, for commands that work on its etcd. */
export interface OpenCluster {
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
export async function openCluster(): Promise<OpenCluster> {
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
