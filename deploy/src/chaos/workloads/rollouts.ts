import { pause, type Random } from '@gantry/base';
import {
  type Deployment,
  DEPLOYMENTS,
  type Eviction,
  type KubeObject,
  type ObjectKey,
  POD_DISRUPTION_BUDGETS,
  type PodDisruptionBudget,
  PODS,
  isReason,
} from '@gantry/objects';
import { RecordedClient } from './recorded-client.ts';
import type { RunningWorkload, Workload, WorkloadContext } from './workload.ts';

/** The last one is never changed: only evictions take its pods. */
const DEPLOYMENT_COUNT = 3;
const EVICT_EVERY_MS = 9_000;
const LIST_MS = 30_000;
const CHANGE_EVERY_MS = [4_000, 12_000] as const;
/** Half a second apart, or fifteen where the API does not respond. */
const PATCH_ATTEMPTS = 100;
/** What is wanted in the end is the same in each run, so that the end states can be compared. */
const END = { revision: 1_000_000, replicas: 3 } as const;
const REVISION = 'gantry.chaos/revision';
/** Of the Deployment: the last change, which is unique. */
const VALUE = 'gantry.chaos/value';
const APP = 'app';

/** Deployments with a disruption budget each. The template and the number of replicas of all but one change again and again. */
export const ROLLOUT_WORKLOAD: Workload = {
  name: 'rollouts',
  pods: 'needed',
  what: 'Deployments with disruption budgets are changed and scaled again and again, and their pods are evicted; in the end, exactly the last pods run.',
  start: startRollouts,
};

/** The change that was sent last. It may be undone by none: the client sends it until it is acknowledged. */
interface Wanted {
  readonly name: string;
  revision: number;
  replicas: number;
}

async function startRollouts(context: WorkloadContext, stop: AbortSignal): Promise<RunningWorkload> {
  const { namespace } = context;
  const all: readonly Wanted[] = Array.from({ length: DEPLOYMENT_COUNT }, (_, index) => ({
    name: `rollout-${index}`,
    revision: 0,
    replicas: 3,
  }));
  for (const wanted of all) {
    await context.create(DEPLOYMENTS, deploymentObject(namespace, wanted));
    await context.create(POD_DISRUPTION_BUDGETS, budgetObject(namespace, wanted.name));
  }
  const clients = all.map((_, index) => new RecordedClient(context, `rollouts-${index}`));
  const evicting = new RecordedClient(context, 'rollouts-evictions');
  const working = [
    ...all.slice(0, -1).map((wanted, index) => change(context, clients[index] as RecordedClient, wanted, stop)),
    evict(context, evicting, all, stop),
  ];
  return {
    finish: async () => {
      await Promise.all(working);
      for (const [index, wanted] of all.entries()) {
        Object.assign(wanted, END);
        await apply(context, clients[index] as RecordedClient, wanted, 'end');
      }
      return await judge(context, all);
    },
  };
}

async function change(
  context: WorkloadContext,
  client: RecordedClient,
  wanted: Wanted,
  stop: AbortSignal,
): Promise<void> {
  const { clock, namespace, random } = context;
  const key = { namespace, name: wanted.name };
  let sent = 0;
  for (let turn = 0; ; turn++) {
    await pause(clock, between(CHANGE_EVERY_MS, random), stop);
    if (stop.aborted) return;
    // A scale-down during a rollout takes from all ReplicaSets in proportion, whatever is available, as in Kubernetes: it comes between.
    if (turn % 2 === 1 && (await isRolledOut(client, key))) {
      for (const replicas of stepsTo(2 + Math.floor(random() * 5), wanted.replicas)) {
        wanted.replicas = replicas;
        await apply(context, client, wanted, String(++sent));
      }
    } else {
      wanted.revision++;
      await apply(context, client, wanted, String(++sent));
    }
  }
}

/** Up one by one and without a pause: a controller must not forget what it has just created. Down at once. */
export function stepsTo(replicas: number, from: number): readonly number[] {
  if (replicas <= from) return [replicas];
  return Array.from({ length: replicas - from }, (_, index) => from + index + 1);
}

/** Evicts each running pod of a Deployment, one right after the other: its budget allows one of them. */
async function evict(
  { clock, namespace, random }: WorkloadContext,
  client: RecordedClient,
  all: readonly Wanted[],
  stop: AbortSignal,
): Promise<void> {
  for (;;) {
    await pause(clock, EVICT_EVERY_MS, stop);
    const chosen = all[Math.floor(random() * all.length)];
    if (stop.aborted || chosen === undefined) return;
    const labelSelector = `${APP}=${chosen.name}`;
    // Without a response of the API, there is nobody to evict.
    const pods = await client.api
      .list(PODS, { namespace, labelSelector }, AbortSignal.timeout(LIST_MS))
      .catch(() => undefined);
    for (const { metadata, status } of pods?.items ?? []) {
      if (status?.phase !== 'Running' || metadata.deletionTimestamp !== undefined) continue;
      const key: ObjectKey = { namespace, name: metadata.name ?? '' };
      const object: Eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { ...key } };
      await client.send({ verb: 'evict', resource: PODS, key }, (signal) =>
        client.api.createSubresource(PODS, { ...key, subresource: 'eviction' }, object, signal),
      );
    }
  }
}

/** Sends what is wanted until that is acknowledged. A merge patch says the whole of it: it can be repeated, also after faults have ended. */
async function apply(
  { clock, namespace, interrupted }: WorkloadContext,
  client: RecordedClient,
  { name, revision, replicas }: Wanted,
  number: string,
): Promise<void> {
  const key = { namespace, name };
  const value = `${number}: revision ${revision}, ${replicas} replicas`;
  const template = { metadata: { annotations: { [REVISION]: String(revision) } } };
  const merge = { metadata: { annotations: { [VALUE]: value } }, spec: { replicas, template } };
  for (let done = false, attempt = 0; !done && !interrupted.aborted && attempt < PATCH_ATTEMPTS; attempt++) {
    const request = { verb: 'patch', resource: DEPLOYMENTS, key, value, readValue: valueOf } as const;
    const outcome = await client.send(request, (signal) => client.api.patch(DEPLOYMENTS, key, { merge }, signal));
    done = outcome.kind === 'ok';
    if (!done) await pause(clock, 500, interrupted);
  }
}

async function isRolledOut(client: RecordedClient, key: ObjectKey): Promise<boolean> {
  const request = { verb: 'get', resource: DEPLOYMENTS, key, readValue: valueOf } as const;
  const read = await client.send(request, (signal) => client.api.get(DEPLOYMENTS, key, signal));
  if (read.kind !== 'ok' || read.object === undefined) return false;
  const { spec, status, metadata } = read.object as Deployment;
  const counts = [status?.replicas, status?.updatedReplicas, status?.availableReplicas];
  return status?.observedGeneration === metadata.generation && counts.every((count) => count === spec?.replicas);
}

function valueOf({ metadata }: KubeObject): string | undefined {
  return metadata.annotations?.[VALUE];
}

async function judge({ connect, namespace, untilRight }: WorkloadContext, all: readonly Wanted[]) {
  using api = connect();
  return await untilRight(async (signal) => {
    const wrong: string[] = [];
    for (const { name, revision, replicas } of all) {
      try {
        const { spec, status, metadata } = await api.get(DEPLOYMENTS, { namespace, name }, signal);
        const seen = [spec?.replicas, status?.replicas, status?.updatedReplicas, status?.availableReplicas];
        const isObserved = (status?.observedGeneration ?? 0) === metadata.generation;
        if (!isObserved || seen.some((count) => count !== replicas)) {
          wrong.push(`${name} has ${seen.join(', ')} replicas wanted, there, updated and available, not ${replicas}`);
        }
        const { items } = await api.list(PODS, { namespace, labelSelector: `${APP}=${name}` }, signal);
        const others = items.filter((pod) => pod.metadata.annotations?.[REVISION] !== String(revision));
        if (items.length !== replicas || others.length > 0) {
          wrong.push(`${name} has ${items.length} pods, ${others.length} of them of an earlier revision`);
        }
      } catch (error) {
        if (!isReason(error, 'NotFound')) throw error;
        wrong.push(`${name} is gone`);
      }
    }
    return wrong;
  });
}

function deploymentObject(namespace: string, { name, revision, replicas }: Wanted): Deployment {
  const labels = { [APP]: name };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace, annotations: { [VALUE]: 'created' } },
    spec: {
      replicas,
      // No ReplicaSet of a former revision stays: how many there are differs between runs.
      revisionHistoryLimit: 0,
      selector: { matchLabels: labels },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 1 } },
      template: {
        metadata: { labels, annotations: { [REVISION]: String(revision) } },
        spec: {
          terminationGracePeriodSeconds: 2,
          containers: [{ name: 'main', image: 'registry.k8s.io/pause:3.10' }],
        },
      },
    },
  };
}

function budgetObject(namespace: string, name: string): PodDisruptionBudget {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name, namespace },
    spec: { maxUnavailable: 1, selector: { matchLabels: { [APP]: name } } },
  };
}

function between([least, most]: readonly [number, number], random: Random): number {
  return least + random() * (most - least);
}
