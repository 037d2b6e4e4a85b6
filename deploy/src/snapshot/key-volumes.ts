import type { OpenCluster } from '../cluster/open-cluster.ts';
import { mustRun } from '../machine/shell.ts';
import { sealingKeyIds } from './snapshot-file.ts';

/** The time limit of each wait. */
export const LIMIT_MS = 600_000;
export const POLL_MS = 500;

/** Runs a shell command as root in a container of the service image, with these mounts and no network. */
export function inContainer(
  { shell, image }: OpenCluster,
  mounts: readonly string[],
  command: string,
): Promise<string> {
  const volumes = mounts.flatMap((mount) => ['-v', mount]);
  const rights = ['--network', 'none', '--user', '0'];
  return mustRun(shell, 'docker', ['run', '--rm', ...rights, ...volumes, image, 'sh', '-ec', command]);
}

/** The names of the cluster's volumes with keys. */
export async function keyVolumes({ shell, clusterId }: OpenCluster): Promise<readonly string[]> {
  const text = await mustRun(shell, 'docker', ['volume', 'ls', '-q', '--filter', `name=^${clusterId}_pki-`]);
  return text.split('\n').filter((line) => line !== '');
}

/** Ids of the cluster's sealing keys; none if it has lost them. */
export async function presentSealingKeys(cluster: OpenCluster): Promise<readonly string[]> {
  const volume = `${cluster.clusterId}_pki-sealing`;
  if (!(await keyVolumes(cluster)).includes(volume)) return [];
  const command = '[ ! -e /keys/keys.json ] || cat /keys/keys.json';
  return sealingKeyIds(await inContainer(cluster, [`${volume}:/keys:ro`], command));
}
