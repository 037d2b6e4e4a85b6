import { seededRandom } from '@gantry/base';
import type {
  Affinity,
  ContainerImage,
  Namespace,
  Node,
  NodeSelectorRequirement,
  Pod,
  PodAffinityTerm,
  PodDisruptionBudget,
  PodSpec,
  ReplicaSet,
  Service,
  Taint,
  Toleration,
  TopologySpreadConstraint,
} from '@gantry/objects';
import { exampleMetadata } from '../examples.ts';

type Labels = Record<string, string>;

/** A cluster with pods on its nodes, and a pod that waits. */
export interface GeneratedCase {
  readonly nodes: readonly Node[];
  readonly pods: readonly Pod[];
  readonly namespaces: readonly Namespace[];
  readonly budgets: readonly PodDisruptionBudget[];
  readonly services: readonly Service[];
  readonly replicaSets: readonly ReplicaSet[];
  readonly pod: Pod;
}

const ZONE = 'topology.kubernetes.io/zone';
const HOSTNAME = 'kubernetes.io/hostname';
const APPS = ['web', 'db', 'cache'];
const NAMESPACES = ['default', 'other', 'third'];
const IMAGES = ['app', 'web:1', 'example.com:5000/db', 'example.com/cache@sha256:abc'];
const EFFECTS = ['NoSchedule', 'NoExecute', 'PreferNoSchedule'];

/**
 * The case of a seed: always the same. A pod uses some of the features of scheduling, seldom many at once. Volumes are left out. Run as a
 * program, this file prints the first cases, one a line, for `main.go`.
 */
export function generatedCase(seed: number): GeneratedCase {
  return new Generator(seed).case();
}

class Generator {
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = seededRandom(seed * 7919 + 1);
  }

  case(): GeneratedCase {
    // A third of the cases is about full nodes, where preemption is tried.
    const isFull = this.#chance(0.35);
    const nodes = Array.from({ length: 2 + this.#below(7) }, (_, i) => this.#node(`n${i}`, isFull));
    const pods = nodes.flatMap(({ metadata: { name = '' } }, n) =>
      Array.from({ length: this.#below(isFull ? 6 : 4) }, (_, i) => this.#running(`p${n}-${i}`, name, isFull)),
    );
    const namespaces = NAMESPACES.map((name): Namespace => {
      const labels: Labels = this.#chance(0.5) ? { team: this.#one(['red', 'blue']) } : {};
      return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } };
    });
    const nominated = this.#chance(isFull ? 0.25 : 0.05) ? [this.#nominated(nodes.length)] : [];
    return {
      nodes,
      pods: [...pods, ...nominated],
      namespaces,
      budgets: isFull ? this.#budgets() : [],
      services: APPS.filter(() => this.#chance(0.15)).map(serviceOf),
      replicaSets: APPS.map(replicaSetOf),
      pod: this.#waiting(isFull),
    };
  }

  #node(name: string, isFull: boolean): Node {
    const labels: Record<string, string> = {};
    if (this.#chance(0.95)) labels[HOSTNAME] = name;
    if (this.#chance(0.9)) labels[ZONE] = this.#one(['a', 'b', 'c']);
    if (this.#chance(0.5)) labels['disk'] = this.#one(['ssd', 'hdd']);
    if (this.#chance(0.5)) labels['size'] = this.#one(['1', '5', '10']);
    const allocatable: Record<string, string> = {
      cpu: isFull ? this.#one(['1', '2']) : this.#one(['2', '4', '8']),
      memory: isFull ? this.#one(['1Gi', '2Gi']) : this.#one(['4Gi', '8Gi']),
      pods: this.#chance(0.1) ? '2' : '110',
      'ephemeral-storage': '10Gi',
    };
    if (this.#chance(0.3)) allocatable['example.com/gpu'] = this.#one(['1', '2']);
    const taints = this.#chance(0.3) ? Array.from({ length: 1 + this.#below(2) }, () => this.#taint()) : [];
    const cordon = this.#chance(0.07) ? { unschedulable: true } : {};
    return {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name, labels },
      spec: { ...(taints.length === 0 ? {} : { taints }), ...cordon },
      status: { allocatable, capacity: allocatable, ...(this.#chance(0.4) ? { images: this.#images() } : {}) },
    };
  }

  #images(): ContainerImage[] {
    return IMAGES.filter(() => this.#chance(0.4)).map((image) => ({
      names: [image.includes(':', image.lastIndexOf('/')) ? image : `${image}:latest`],
      sizeBytes: (5 + this.#below(1200)) * 1024 * 1024,
    }));
  }

  /** Another pod that waits, for which room is reserved. */
  #nominated(nodes: number): Pod {
    return this.#pod('nominated', {
      spec: { priority: this.#one([0, 5, 20, 100]), ...(this.#chance(0.2) ? { affinity: this.#podAffinity() } : {}) },
      cpu: this.#one(['100m', '500m', '1']),
      memory: '128Mi',
      status: { phase: 'Pending', nominatedNodeName: `n${this.#below(nodes)}` },
    });
  }

  #taint(): Taint {
    return { key: this.#one(['k1', 'k2']), value: this.#one(['', 'v']), effect: this.#one(EFFECTS) };
  }

  #running(name: string, nodeName: string, isFull: boolean): Pod {
    const affinity = this.#chance(0.2) ? { affinity: this.#podAffinity() } : {};
    const startTime = new Date(Date.UTC(2026, 0, 1 + this.#below(20), this.#below(24))).toISOString();
    const deletionTimestamp = this.#chance(0.05) ? { deletionTimestamp: '2026-02-01T00:00:00Z' } : {};
    return this.#pod(name, {
      spec: { nodeName, priority: isFull ? this.#one([0, 0, 5, 10, 50]) : 0, ...affinity },
      cpu: isFull ? this.#one(['100m', '500m', '1']) : this.#one(['', '0', '100m', '500m']),
      memory: this.#one(['', '128Mi', '512Mi']),
      metadata: deletionTimestamp,
      status: { phase: 'Running', startTime: startTime.replace('.000Z', 'Z') },
    });
  }

  #waiting(isFull: boolean): Pod {
    const some = <T extends object>(share: number, make: () => T): Partial<T> => (this.#chance(share) ? make() : {});
    const affinity: Affinity = {
      ...some(0.25, () => ({ nodeAffinity: this.#nodeAffinity() })),
      ...some(0.35, () => this.#podAffinity()),
    };
    const spec: Partial<PodSpec> = {
      ...some(0.2, () => ({ nodeSelector: this.#one<Labels>([{ disk: 'ssd' }, { [ZONE]: 'a' }, { size: '5' }]) })),
      ...some(0.4, () => ({ tolerations: [this.#toleration()] })),
      ...some(0.35, () => ({
        topologySpreadConstraints: this.#one([[ZONE], [HOSTNAME], [ZONE, HOSTNAME]]).map((key) =>
          this.#constraint(key),
        ),
      })),
      ...(Object.keys(affinity).length === 0 ? {} : { affinity }),
      ...some(0.1, () => ({ overhead: { cpu: '100m' } })),
      ...some(0.05, () => ({ preemptionPolicy: 'Never' })),
      priority: isFull ? this.#one([0, 5, 20, 100]) : 0,
    };
    const cpu = isFull ? this.#one(['500m', '1', '2']) : this.#one(['', '0', '100m', '1', '3']);
    return this.#pod('waiting', { spec, cpu, memory: this.#one(['', '256Mi', '1Gi']), status: { phase: 'Pending' } });
  }

  #pod(
    name: string,
    more: { readonly cpu: string; readonly memory: string } & Pick<Pod, 'status'> & {
        readonly spec: Partial<PodSpec>;
        readonly metadata?: Partial<Pod['metadata']>;
      },
  ): Pod {
    const { cpu, memory, spec, metadata, status } = more;
    const gpu: Record<string, string> = this.#chance(0.08) ? { 'example.com/gpu': '1' } : {};
    const requests = { ...(cpu === '' ? {} : { cpu }), ...(memory === '' ? {} : { memory }), ...gpu };
    const hostPort = this.#chance(0.1) ? [{ containerPort: 80, hostPort: this.#one([80, 81]), protocol: 'TCP' }] : [];
    const init = this.#chance(0.08)
      ? { initContainers: [{ name: 'init', image: 'app', resources: { requests: { cpu: '700m' } } }] }
      : {};
    const owner = this.#chance(0.3) ? this.#one(APPS) : undefined;
    const free = this.#chance(0.85) ? { app: this.#one(APPS) } : undefined;
    const labels = owner === undefined ? free : { app: owner, set: owner };
    const namespace = owner !== undefined || this.#chance(0.75) ? 'default' : this.#one(NAMESPACES);
    return {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { ...exampleMetadata(name, { namespace, labels, owner }), ...metadata },
      spec: {
        ...init,
        containers: [
          {
            name: 'main',
            image: this.#one(IMAGES),
            resources: { requests },
            ...(hostPort.length === 0 ? {} : { ports: hostPort }),
          },
          ...(this.#chance(0.15) ? [{ name: 'beside', image: this.#one(IMAGES) }] : []),
        ],
        schedulerName: 'default-scheduler',
        ...spec,
      },
      ...(status === undefined ? {} : { status }),
    };
  }

  #toleration(): Toleration {
    const effect = this.#chance(0.4) ? {} : { effect: this.#one(EFFECTS) };
    if (this.#chance(0.2)) return { operator: 'Exists', ...effect };
    const key = this.#one(['k1', 'k2']);
    return this.#chance(0.5) ? { key, operator: 'Exists', ...effect } : { key, value: this.#one(['', 'v']), ...effect };
  }

  #nodeAffinity(): NonNullable<Affinity['nodeAffinity']> {
    const term = () => ({ matchExpressions: Array.from({ length: 1 + this.#below(2) }, () => this.#requirement()) });
    if (this.#chance(0.15)) {
      const matchFields = [{ key: 'metadata.name', operator: 'In', values: [`n${this.#below(4)}`] }];
      return { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields }] } };
    }
    if (this.#chance(0.4)) {
      const preferred = Array.from({ length: 1 + this.#below(2) }, () => ({
        weight: 1 + this.#below(100),
        preference: term(),
      }));
      return { preferredDuringSchedulingIgnoredDuringExecution: preferred };
    }
    const nodeSelectorTerms = Array.from({ length: 1 + this.#below(2) }, term);
    return { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } };
  }

  #requirement(): NodeSelectorRequirement {
    return this.#one<NodeSelectorRequirement>([
      { key: 'disk', operator: 'In', values: ['ssd'] },
      { key: 'disk', operator: 'NotIn', values: ['hdd'] },
      { key: 'size', operator: 'Gt', values: ['3'] },
      { key: 'size', operator: 'Lt', values: ['6'] },
      { key: 'size', operator: 'Exists' },
      { key: 'disk', operator: 'DoesNotExist' },
      { key: ZONE, operator: 'In', values: ['a', 'b'] },
    ]);
  }

  #podAffinity(): Affinity {
    const required = () => ({ requiredDuringSchedulingIgnoredDuringExecution: [this.#term()] });
    const preferred = () => ({
      preferredDuringSchedulingIgnoredDuringExecution: Array.from({ length: 1 + this.#below(2) }, () => ({
        weight: 1 + this.#below(100),
        podAffinityTerm: this.#term(),
      })),
    });
    const affinity: Affinity = {};
    if (this.#chance(0.5)) affinity.podAffinity = this.#chance(0.5) ? required() : preferred();
    else affinity.podAntiAffinity = this.#chance(0.6) ? required() : preferred();
    return affinity;
  }

  #term(): PodAffinityTerm {
    const labelSelector = this.#one([
      { matchLabels: { app: this.#one(APPS) } },
      { matchExpressions: [{ key: 'app', operator: 'In', values: ['web', 'db'] }] },
      { matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['cache'] }] },
      {},
    ]);
    const where = this.#one<Partial<PodAffinityTerm>>([
      {},
      {},
      { namespaces: ['other', 'third'] },
      { namespaceSelector: { matchLabels: { team: 'red' } } },
      { namespaceSelector: {} },
    ]);
    return { labelSelector, topologyKey: this.#one([ZONE, HOSTNAME, HOSTNAME]), ...where };
  }

  #constraint(topologyKey: string): TopologySpreadConstraint {
    const isHard = this.#chance(0.6);
    return {
      maxSkew: 1 + this.#below(2),
      topologyKey,
      whenUnsatisfiable: isHard ? 'DoNotSchedule' : 'ScheduleAnyway',
      labelSelector: { matchLabels: { app: this.#one(APPS) } },
      ...(isHard && this.#chance(0.2) ? { minDomains: 3 } : {}),
      ...(this.#chance(0.2) ? { nodeAffinityPolicy: 'Ignore' } : {}),
      ...(this.#chance(0.2) ? { nodeTaintsPolicy: 'Honor' } : {}),
    };
  }

  #budgets(): PodDisruptionBudget[] {
    return APPS.filter(() => this.#chance(0.3)).map((app) => ({
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: app, namespace: 'default' },
      spec: { selector: { matchLabels: { app } } },
      status: { currentHealthy: 3, desiredHealthy: 2, expectedPods: 3, disruptionsAllowed: this.#below(2) },
    }));
  }

  #chance(share: number): boolean {
    return this.#random() < share;
  }

  #below(count: number): number {
    return Math.floor(this.#random() * count);
  }

  #one<T>(of: readonly T[]): T {
    const one = of[this.#below(of.length)];
    if (one === undefined) throw new Error('nothing to choose from');
    return one;
  }
}

function replicaSetOf(app: string): ReplicaSet {
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: { name: app, namespace: 'default', uid: app },
    spec: { selector: { matchLabels: { set: app } } },
  };
}

function serviceOf(app: string): Service {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: app, namespace: 'default' },
    spec: { selector: { app } },
  };
}

if (import.meta.main) {
  const count = Number(process.argv[2] ?? 5000);
  for (let seed = 0; seed < count; seed++) process.stdout.write(`${JSON.stringify(generatedCase(seed))}\n`);
}
