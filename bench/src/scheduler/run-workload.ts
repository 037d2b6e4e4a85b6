import { setTimeout as sleep } from 'node:timers/promises';
import {
  type KubeObject,
  NAMESPACES,
  type Node,
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type Pod,
  PODS,
  PRIORITY_CLASSES,
} from '@gantry/objects';
import type { SchedulerTarget } from './targets.ts';
import { HIGH_PRIORITY, nodeOf, podOf, TEAM } from './templates.ts';
import type { Operation, Workload } from './workloads.ts';

/** What a workload's measured pods took. */
export interface WorkloadResult {
  readonly name: string;
  readonly pods: number;
  readonly seconds: number;
  /** CPU time of each process, in milliseconds, while they were created and scheduled. */
  readonly cpuMs: ReturnType<SchedulerTarget['cpu']>;
}

type Of<O extends Operation['opcode']> = Operation & { readonly opcode: O };

/** Runs a workload's operations in their order, and ends what goes on beside them. */
export async function runWorkload(target: SchedulerTarget, workload: Workload): Promise<WorkloadResult> {
  const run = new Run(target);
  await target.create(PRIORITY_CLASSES, [
    {
      apiVersion: 'scheduling.k8s.io/v1',
      kind: 'PriorityClass',
      metadata: { name: HIGH_PRIORITY.name },
      value: HIGH_PRIORITY.value,
    } as KubeObject,
  ]);
  try {
    for (const operation of workload.operations) await run.step(operation);
  } finally {
    await run.end();
  }
  return { name: workload.name, ...run.result() };
}

class Run {
  readonly #target: SchedulerTarget;
  readonly #stop = new AbortController();
  readonly #beside: Promise<void>[] = [];
  readonly #created = new Map<string, Pod[]>();
  #nodes = 0;
  #steps = 0;
  #measured: Omit<WorkloadResult, 'name'> | undefined;

  constructor(target: SchedulerTarget) {
    this.#target = target;
  }

  result(): Omit<WorkloadResult, 'name'> {
    if (this.#measured === undefined) throw new Error('the workload measures nothing');
    return this.#measured;
  }

  async step(operation: Operation): Promise<void> {
    this.#steps += 1;
    switch (operation.opcode) {
      case 'createNodes':
        return this.#createNodes(operation);
      case 'createPods':
        return operation.wait === 'measured' ? this.#measure(operation) : this.#createPods(operation);
      case 'churn':
        await this.#target.create(NAMESPACES, [namespaceOf('churn', false)]);
        this.#beside.push(this.#churn(operation));
        return;
      case 'deletePods':
        this.#beside.push(this.#deletePods(operation));
    }
  }

  async end(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#beside);
  }

  async #createNodes({ count, template = 'node-default', zones = [] }: Of<'createNodes'>): Promise<void> {
    const nodes = Array.from({ length: count }, (_, i) => {
      const zone = zones[i % zones.length];
      const name = template === 'node-with-name' ? 'scheduler-perf-node' : `scheduler-perf-${(this.#nodes += 1)}`;
      return nodeOf(template, name, zone === undefined ? {} : { 'topology.kubernetes.io/zone': zone });
    });
    await this.#target.create(NODES, nodes);
  }

  async #measure(operation: Of<'createPods'>): Promise<void> {
    const { pods, namespaces } = await this.#prepare(operation);
    const before = this.#target.cpu();
    const startedAt = performance.now();
    const created = this.#target.create(PODS, pods);
    await this.#untilBound(namespaces, operation.count);
    const seconds = (performance.now() - startedAt) / 1000;
    const after = this.#target.cpu();
    await created;
    const cpuMs = {
      scheduler: after.scheduler - before.scheduler,
      apiserver: after.apiserver - before.apiserver,
      etcd: after.etcd - before.etcd,
    };
    this.#measured = { pods: pods.length, seconds, cpuMs };
  }

  async #createPods(operation: Of<'createPods'>): Promise<void> {
    const { pods, namespaces } = await this.#prepare(operation);
    await this.#target.create(PODS, pods);
    if (operation.wait !== 'created') await this.#untilBound(namespaces, operation.count);
  }

  async #untilBound(namespaces: readonly string[], count: number): Promise<void> {
    for (const namespace of namespaces) await this.#target.untilBound(namespace, count);
  }

  /** Creates the namespaces and volumes of an operation's pods, and returns the pods. */
  async #prepare({ count, template, namespace, namespaces: of, ofTeam, volumes }: Of<'createPods'>) {
    const first = namespace ?? `namespace-${this.#steps}`;
    const namespaces = of === undefined ? [first] : Array.from({ length: of }, (_, i) => `${first}-${i}`);
    const fresh = namespaces.filter((name) => !this.#created.has(name));
    await this.#target.create(
      NAMESPACES,
      fresh.map((name) => namespaceOf(name, ofTeam === true)),
    );
    const pods: Pod[] = [];
    for (const name of namespaces) {
      const before = this.#created.get(name) ?? [];
      const made = Array.from({ length: count }, (_, i) => podOf(template, name, `pod-${this.#steps}-${i}`));
      this.#created.set(name, [...before, ...made]);
      pods.push(...made);
    }
    return { namespaces, pods: volumes === undefined ? pods : await this.#withVolumes(pods, volumes) };
  }

  /** Gives each pod a claim that is bound to a volume of its own. */
  async #withVolumes(pods: readonly Pod[], kind: 'in-tree' | 'csi'): Promise<Pod[]> {
    const spec = { accessModes: ['ReadOnlyMany'], storageClassName: '' };
    const nameOf = ({ metadata: { namespace, name } }: Pod) => `${namespace ?? ''}-${name ?? ''}`;
    const source = (id: string) =>
      kind === 'csi'
        ? { csi: { driver: 'ebs.csi.aws.com', volumeHandle: id } }
        : { awsElasticBlockStore: { volumeID: id } };
    const volumes = pods.map((pod) => {
      const [name, { namespace = '', name: claim = '' }] = [nameOf(pod), pod.metadata];
      const claimRef = { kind: 'PersistentVolumeClaim', apiVersion: 'v1', namespace, name: claim };
      const more = { capacity: { storage: '1Gi' }, persistentVolumeReclaimPolicy: 'Retain', claimRef, ...source(name) };
      return { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name }, spec: { ...spec, ...more } };
    });
    const claims = pods.map((pod) => {
      const { namespace, name } = pod.metadata;
      const metadata = { namespace, name, annotations: { 'pv.kubernetes.io/bind-completed': 'true' } };
      const more = { resources: { requests: { storage: '1Gi' } }, volumeName: nameOf(pod) };
      return { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata, spec: { ...spec, ...more } };
    });
    await this.#target.create(PERSISTENT_VOLUMES, volumes);
    await this.#target.create(PERSISTENT_VOLUME_CLAIMS, claims);
    return pods.map((pod) => {
      const claim = { name: 'data', persistentVolumeClaim: { claimName: pod.metadata.name ?? '' } };
      return { ...pod, spec: { containers: [], ...pod.spec, volumes: [claim] } };
    });
  }

  async #churn({ mode, templates, intervalMs }: Of<'churn'>): Promise<void> {
    const last = new Map<number, { readonly resource: typeof NODES | typeof PODS; readonly object: Node | Pod }>();
    for (let i = 0; !this.#stop.signal.aborted; i = i + 1) {
      const at = i % templates.length;
      const template = templates[at];
      if (template === undefined) return;
      const before = last.get(at);
      if (mode === 'recreate' && before !== undefined) {
        const { namespace = '', name = '' } = before.object.metadata;
        await this.#target.delete(before.resource, { namespace, name });
      }
      const next =
        template === 'churn/node-default'
          ? { resource: NODES, object: nodeOf(template, `node-churn-${i}`, {}) }
          : { resource: PODS, object: podOf(template, 'churn', `churn-${i}`) };
      await this.#target.create(next.resource, [next.object]);
      last.set(at, next);
      await this.#pause(intervalMs);
    }
  }

  async #deletePods({ namespace, perSecond }: Of<'deletePods'>): Promise<void> {
    for (const { metadata } of this.#created.get(namespace) ?? []) {
      if (this.#stop.signal.aborted) return;
      await this.#target.delete(PODS, { namespace, name: metadata.name ?? '' });
      await this.#pause(1000 / perSecond);
    }
  }

  /** Waits, or until the end of the run. */
  async #pause(ms: number): Promise<void> {
    const { signal } = this.#stop;
    await sleep(ms, undefined, { signal }).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }
}

function namespaceOf(name: string, ofTeam: boolean): KubeObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: ofTeam ? TEAM : {} } };
}
