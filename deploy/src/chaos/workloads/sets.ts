import { pause } from '@gantry/base';
import {
  type DaemonSet,
  DAEMON_SETS,
  NODES,
  PODS,
  type PodTemplateSpec,
  STATEFUL_SETS,
  type StatefulSet,
} from '@gantry/objects';
import { RecordedClient } from './recorded-client.ts';
import type { RunningWorkload, Workload, WorkloadContext } from './workload.ts';

const DELETE_EVERY_MS = 8_000;
const REPLICAS = 3;
const APP = 'app';
const STATEFUL = 'ordinal';
const DAEMON = 'everywhere';

/** A StatefulSet and a DaemonSet, whose pods are deleted by a user. */
export const SET_WORKLOAD: Workload = {
  name: 'sets',
  pods: 'needed',
  what: 'Pods of a StatefulSet and of a DaemonSet are deleted again and again; in the end each ordinal and each node has one that is Ready.',
  start: startSets,
};

async function startSets(context: WorkloadContext, stop: AbortSignal): Promise<RunningWorkload> {
  const { namespace } = context;
  await context.create(STATEFUL_SETS, statefulSet(namespace));
  await context.create(DAEMON_SETS, daemonSet(namespace));
  const client = new RecordedClient(context, 'sets-0');
  const working = deletePods(context, client, stop);
  return {
    finish: async () => {
      await working;
      return await judge(context, client);
    },
  };
}

async function deletePods({ clock, namespace, random }: WorkloadContext, client: RecordedClient, stop: AbortSignal) {
  for (;;) {
    await pause(clock, DELETE_EVERY_MS, stop);
    if (stop.aborted) return;
    const key = { namespace, name: `${STATEFUL}-${Math.floor(random() * REPLICAS)}` };
    await client.send({ verb: 'delete', resource: PODS, key }, (signal) => client.api.delete(PODS, key, {}, signal));
  }
}

async function judge({ namespace, untilRight }: WorkloadContext, { api }: RecordedClient) {
  return await untilRight(async (signal) => {
    const { items: nodes } = await api.list(NODES, {}, signal);
    const { items: pods } = await api.list(PODS, { namespace }, signal);
    const readyOf = (app: string) =>
      pods.filter(
        ({ metadata, status }) =>
          metadata.labels?.[APP] === app &&
          status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true,
      );
    const ordinals = readyOf(STATEFUL).map(({ metadata }) => metadata.name ?? '');
    const expected = Array.from({ length: REPLICAS }, (_, index) => `${STATEFUL}-${index}`);
    const places = readyOf(DAEMON).map(({ spec }) => spec?.nodeName ?? '');
    return [
      ...differing('ordinals that are Ready', ordinals, expected),
      ...differing(
        'nodes with a Ready pod of the DaemonSet',
        places,
        nodes.map(({ metadata }) => metadata.name ?? ''),
      ),
    ];
  });
}

function differing(what: string, found: readonly string[], expected: readonly string[]): readonly string[] {
  const [is, shall] = [found, expected].map((names) => names.toSorted().join(', '));
  return is === shall ? [] : [`${what}: ${is}; expected: ${shall}`];
}

const templateOf = (app: string): PodTemplateSpec => ({
  metadata: { labels: { [APP]: app } },
  spec: { terminationGracePeriodSeconds: 2, containers: [{ name: 'main', image: 'registry.k8s.io/pause:3.10' }] },
});

function statefulSet(namespace: string): StatefulSet {
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: STATEFUL, namespace },
    spec: {
      serviceName: STATEFUL,
      replicas: REPLICAS,
      podManagementPolicy: 'Parallel',
      selector: { matchLabels: { [APP]: STATEFUL } },
      template: templateOf(STATEFUL),
    },
  };
}

function daemonSet(namespace: string): DaemonSet {
  return {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name: DAEMON, namespace },
    spec: { selector: { matchLabels: { [APP]: DAEMON } }, template: templateOf(DAEMON) },
  };
}
