import type { Node, Pod, PodDisruptionBudget, PodSpec, Service, Taint } from '@gantry/objects';
import { createPodInfo } from '../framework/pod-info.ts';
import { SnapshotKeeper, type ClusterSnapshot } from '../framework/snapshot.ts';

interface NodeOptions {
  readonly cpu?: string;
  readonly memory?: string;
  readonly pods?: string;
  readonly labels?: Record<string, string>;
  readonly taints?: Taint[];
  readonly unschedulable?: boolean;
}

/** An example of a node, which has free resources unless `options` says otherwise. */
export function exampleNode(name: string, options: NodeOptions = {}): Node {
  const { cpu = '2', memory = '4Gi', pods = '110', labels = {}, taints, unschedulable } = options;
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels },
    spec: { ...(taints === undefined ? {} : { taints }), ...(unschedulable === undefined ? {} : { unschedulable }) },
    status: { allocatable: { cpu, memory, pods, 'ephemeral-storage': '10Gi' } },
  };
}

interface PodOptions {
  readonly namespace?: string | undefined;
  readonly labels?: Record<string, string> | undefined;
  readonly cpu?: string;
  readonly memory?: string;
  readonly node?: string;
  readonly owner?: string | undefined;
  readonly hostPort?: number;
  readonly spec?: Partial<PodSpec>;
}

/** An example of a pending pod with one container. */
export function examplePod(name: string, options: PodOptions = {}): Pod {
  const { namespace, labels, cpu, memory, node, owner, hostPort, spec } = options;
  const requests = { ...(cpu === undefined ? {} : { cpu }), ...(memory === undefined ? {} : { memory }) };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: exampleMetadata(name, { namespace, labels, owner }),
    spec: {
      containers: [
        {
          name: 'main',
          image: 'app',
          resources: { requests },
          ...(hostPort === undefined ? {} : { ports: [{ containerPort: hostPort, hostPort }] }),
        },
      ],
      schedulerName: 'default-scheduler',
      ...(node === undefined ? {} : { nodeName: node }),
      ...spec,
    },
    status: { phase: 'Pending' },
  };
}

/** The metadata of a pod in `default`, unless `options` says otherwise. `owner` is the name and the uid of a ReplicaSet. */
export function exampleMetadata(
  name: string,
  { namespace = 'default', labels, owner }: Pick<PodOptions, 'namespace' | 'labels' | 'owner'>,
): Pod['metadata'] {
  const controller = { apiVersion: 'apps/v1', kind: 'ReplicaSet', controller: true };
  return {
    name,
    namespace,
    uid: `uid-${name}`,
    ...(labels === undefined ? {} : { labels }),
    ...(owner === undefined ? {} : { ownerReferences: [{ ...controller, name: owner, uid: owner }] }),
  };
}

/** A PodDisruptionBudget for the pods with this value of the label `app`. */
export function exampleBudget(app: string, disruptionsAllowed: number): PodDisruptionBudget {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: app, namespace: 'default' },
    spec: { selector: { matchLabels: { app } } },
    status: { currentHealthy: 0, desiredHealthy: 0, expectedPods: 0, disruptionsAllowed },
  };
}

/** A snapshot of a cluster with these nodes, pods, budgets, labels of namespaces and Services. Pods without a node may be nominated to one. */
export function exampleSnapshot(
  nodes: readonly Node[],
  pods: readonly Pod[] = [],
  budgets: readonly PodDisruptionBudget[] = [],
  namespaces: Readonly<Record<string, Record<string, string>>> = {},
  services: readonly Service[] = [],
): ClusterSnapshot {
  const keeper = new SnapshotKeeper();
  for (const node of nodes) keeper.setNode(node);
  for (const pod of pods) {
    keeper.setPod(pod);
    const info = createPodInfo(pod);
    if ((pod.spec?.nodeName ?? '') === '') keeper.setNomination(info.key, info);
  }
  for (const [name, labels] of Object.entries(namespaces)) keeper.setNamespace(name, labels);
  for (const service of services) keeper.setService(service.metadata.name ?? '', service);
  for (const budget of budgets) keeper.setBudget(budget.metadata.name ?? '', budget);
  return keeper.snapshot();
}
