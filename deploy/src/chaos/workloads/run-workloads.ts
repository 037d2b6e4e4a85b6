import { append, type Clock, errorMessage, seededRandom } from '@gantry/base';
import {
  isReason,
  type KubeObject,
  type Namespace,
  NAMESPACES,
  type Resource,
  SERVICE_ACCOUNTS,
  StatusError,
} from '@gantry/objects';
import type { HttpClient } from '@gantry/client';
import { CommandError } from '../../machine/command-error.ts';
import type { ChaosCluster } from '../chaos-cluster.ts';
import { CHAOS_LABEL } from '../engine.ts';
import type { CampaignOptions } from '../options.ts';
import type { RunFolder } from '../recording/run-folder.ts';
import type { Tally } from './tally.ts';
import { type Patience, untilRight } from './until-right.ts';
import type { RunningWorkload, WorkloadContext } from './workload.ts';

/** What workloads of a run share. */
export interface WorkloadParts {
  readonly cluster: ChaosCluster;
  readonly clock: Clock;
  readonly namespace: string;
  readonly folder: RunFolder;
  readonly tally: Tally;
  /** How long workloads wait for the cluster to be right in the end. */
  readonly patience: Required<Patience>;
  readonly isLost: WorkloadContext['isLost'];
  /** Ends all that the workloads have started, also where one of them cannot start. */
  readonly over: AbortSignal;
}

/** Starts the workloads, one after the other. */
export async function startWorkloads(
  { cluster, clock, namespace, folder, tally, patience, isLost, over }: WorkloadParts,
  { workloads, seed, rate }: Pick<CampaignOptions, 'workloads' | 'seed' | 'rate'>,
  stop: AbortSignal,
): Promise<readonly RunningWorkload[]> {
  const running: RunningWorkload[] = [];
  const serviceImage = await cluster.podImage();
  const { interrupted } = patience;
  const waiting: WorkloadContext['untilRight'] = (look, limitMs = patience.limitMs) =>
    untilRight(clock, look, { ...patience, limitMs });
  const clients: HttpClient[] = [];
  // An open connection would keep the process running.
  over.addEventListener('abort', () => clients.forEach((client) => client[Symbol.dispose]()), { once: true });
  const connect = () => {
    const client = cluster.connect();
    clients.push(client);
    return client;
  };
  const setup = connect();
  const create: WorkloadContext['create'] = (resource, object) => createObject(setup, waiting, resource, object);
  const shared = {
    connect,
    kubeconfig: cluster.kubeconfig,
    create,
    over,
    namespace,
    serviceImage,
    folder,
    tally,
    clock,
    rate,
    untilRight: waiting,
    isLost,
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
  const waiting: WorkloadContext['untilRight'] = (look) => untilRight(engine.options.clock, look);
  await createObject(api, waiting, NAMESPACES, object);
  await waiting(async (signal) => {
    await api.get(SERVICE_ACCOUNTS, { namespace: name, name: 'default' }, signal);
    return [];
  });
}

/** As `create` of a workload's context. The names are the run's own: one that exists was made by an attempt without an answer. */
export async function createObject<T extends KubeObject>(
  api: Pick<HttpClient, 'create' | 'get'>,
  waiting: WorkloadContext['untilRight'],
  resource: Resource<T>,
  object: NoInfer<T>,
): Promise<T> {
  const { namespace = '', name = '' } = object.metadata;
  let created: T | undefined;
  let refused: unknown;
  const wrong = await waiting(async (signal) => {
    try {
      created = await api.create(resource, object, signal);
    } catch (error) {
      if (isReason(error, 'AlreadyExists')) created = await api.get(resource, { namespace, name }, signal);
      else if (isRefusal(error)) refused = error;
      else throw error;
    }
    return [];
  });
  if (created !== undefined) return created;
  const why = refused === undefined ? wrong.join('; ') || 'interrupted' : errorMessage(refused);
  throw new CommandError(`${object.kind} ${name} cannot be created before the load: ${why}`);
}

/** Whether another attempt would have the same answer. */
const isRefusal = (error: unknown): boolean =>
  error instanceof StatusError && error.code >= 400 && error.code < 500 && error.code !== 429;
