import { systemClock } from '@gantry/base';
import type { OpenCluster } from '../cluster/open-cluster.ts';
import { CommandError } from '../machine/command-error.ts';
import { type ChaosCluster, openChaosCluster } from './chaos-cluster.ts';
import { removeWorkloads, undoLeftovers } from './leftovers.ts';
import { untilRight } from './workloads/until-right.ts';

/** After faults were healed, it takes a while to be healthy. */
const SETTLE_MS = 60_000;

/**
 * The cluster, ready for faults: what a campaign that was killed has left is undone, and the cluster is healthy. `say` is told what was
 * done. Throws CommandError that says what is wrong with the cluster. Take the lock first.
 */
export async function prepareCluster(
  opened: OpenCluster,
  image: string,
  namespace: string,
  say: (text: string) => void,
): Promise<ChaosCluster> {
  const cluster = openChaosCluster(opened, image, namespace);
  if (await undoLeftovers(opened, 'containers')) {
    await undoLeftovers(opened, 'commands');
    say('an earlier campaign was healed');
  }
  using api = cluster.connect();
  await removeWorkloads(opened.config, api);
  const found = await untilRight(systemClock, cluster.problems, { limitMs: SETTLE_MS });
  if (found.length > 0) throw new CommandError(`the cluster is not healthy: ${found.join('; ')}`, 'npm run up');
  return cluster;
}
