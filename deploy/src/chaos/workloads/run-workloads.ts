import { append, type Clock, seededRandom } from '@gantry/base';
import { type Namespace, NAMESPACES, SERVICE_ACCOUNTS } from '@gantry/objects';
import type { ChaosCluster } from '../chaos-cluster.ts';
import { CHAOS_LABEL } from '../engine.ts';
import type { RunFolder } from '../recording/run-folder.ts';
import type { Tally } from './tally.ts';
import { type Patience, untilRight } from './until-right.ts';
import type { RunningWorkload, Workload, WorkloadContext } from './workload.ts';

const NAMESPACE_MS = 60_000;

/** What workloads of a run share. */
export interface WorkloadParts {
  readonly cluster: ChaosCluster;
  readonly clock: Clock;
  readonly namespace: string;
  readonly folder: RunFolder;
  readonly tally: Tally;
  /** How long workloads wait for the cluster to be right in the end. */
  readonly patience: Required<Patience>;
}

/** Starts the workloads, one after the other. */
export async function startWorkloads(
  { cluster, clock, namespace, folder, tally, patience }: WorkloadParts,
  { workloads, seed }: { readonly workloads: readonly Workload[]; readonly seed: number },
  stop: AbortSignal,
): Promise<readonly RunningWorkload[]> {
  const running: RunningWorkload[] = [];
  const serviceImage = await cluster.podImage();
  const { interrupted } = patience;
  const waiting: WorkloadContext['untilRight'] = (look, limitMs = patience.limitMs) =>
    untilRight(clock, look, { ...patience, limitMs });
  const shared = {
    connect: cluster.connect,
    namespace,
    serviceImage,
    folder,
    tally,
    clock,
    untilRight: waiting,
    interrupted,
  };
  for (const [index, workload] of workloads.entries()) {
    if (interrupted.aborted) break;
    // Each workload has a sequence of its own: which requests it makes does not depend on the others.
    running.push(await workload.start({ ...shared, random: seededRandom(seed + index + 1) }, stop));
  }
  return running;
}

/** Ends the workloads. Resolves with what is wrong. */
export async function finishAll(workloads: readonly RunningWorkload[]): Promise<readonly string[]> {
  const wrong: string[] = [];
  // Watchers start first and finish last: they see what the others still do.
  for (const workload of workloads.toReversed()) append(wrong, await workload.finish());
  return wrong;
}

/** Makes a namespace whose label says that it is a campaign's, and waits until pods can be made in it. */
export async function makeNamespace({ engine, connect }: ChaosCluster, name: string): Promise<void> {
  using api = connect();
  const metadata = { name, labels: { [CHAOS_LABEL]: 'workload' } };
  const object: Namespace = { apiVersion: 'v1', kind: 'Namespace', metadata };
  await api.create(NAMESPACES, object, AbortSignal.timeout(NAMESPACE_MS));
  await untilRight(engine.options.clock, async (signal) => {
    await api.get(SERVICE_ACCOUNTS, { namespace: name, name: 'default' }, signal);
    return [];
  });
}
