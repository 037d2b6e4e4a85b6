import type { Affinity, Node, Pod, PodAffinityTerm, TopologySpreadConstraint } from '@gantry/objects';

/** The names of scheduler_perf's templates of nodes, and `node-large`, which has room for all pods of a workload. */
export type NodeTemplate = 'node-default' | 'node-with-name' | 'node-with-taint' | 'churn/node-default' | 'node-large';
export type PodTemplate = keyof typeof POD_TEMPLATES;

const ZONE = 'topology.kubernetes.io/zone';
const HOSTNAME = 'kubernetes.io/hostname';
/** The node of `node-with-name`. */
export const NAMED_NODE = 'scheduler-perf-node';
/** The label of the namespaces that selectors select. */
export const TEAM = { team: 'devops' };
/** scheduler_perf sets priorities without classes, and switches the admission off that would refuse them. */
export const HIGH_PRIORITY = { name: 'bench-high', value: 10 };

/** scheduler_perf's pods, by the names of its templates. Tokens are not mounted: it switches that admission off as well. */
const POD_TEMPLATES = {
  'pod-default': {},
  'light-pod': { requests: {} },
  'pod-with-label': { labels: { app: 'scheduler-perf' }, requests: {} },
  'daemonset-pod': { requests: {}, spec: { affinity: onNode(NAMED_NODE) } },
  'gated-pod': { requests: {}, spec: { schedulingGates: [{ name: 'test.k8s.io/hold' }] } },
  'pod-low-priority': { requests: { cpu: '900m', memory: '500Mi' } },
  'pod-high-priority': { requests: { cpu: '3', memory: '500Mi' }, priority: 'high' },
  'pod-high-priority-large-cpu': { requests: { cpu: '9', memory: '500Mi' }, priority: 'high' },
  'pod-with-pod-anti-affinity': pod('green', { podAntiAffinity: required(term('green', HOSTNAME)) }),
  'pod-with-pod-anti-affinity-label': { labels: { color: 'green' } },
  'pod-with-pod-affinity': pod('blue', { podAffinity: required(term('blue', ZONE)) }),
  'pod-with-preferred-pod-affinity': pod('red', { podAffinity: preferred(term('red', HOSTNAME)) }),
  'pod-with-preferred-pod-anti-affinity': pod('yellow', { podAntiAffinity: preferred(term('yellow', HOSTNAME)) }),
  'pod-with-node-affinity': { spec: { affinity: inZone('zone1', 'zone2') } },
  'pod-anti-affinity-ns-selector': pod('green', { podAntiAffinity: required(termOfTeams('green', HOSTNAME)) }),
  'pod-preferred-anti-affinity-ns-selector': pod('green', {
    podAntiAffinity: preferred(termOfTeams('green', HOSTNAME)),
  }),
  'pod-affinity-ns-selector': pod('blue', { podAffinity: required(termOfTeams('blue', ZONE)) }),
  'pod-preferred-affinity-ns-selector': pod('red', { podAffinity: preferred(termOfTeams('red', HOSTNAME)) }),
  'pod-with-topology-spreading': spreading('blue', { topologyKey: ZONE, maxSkew: 5 }),
  'pod-with-preferred-topology-spreading': spreading('blue', {
    topologyKey: ZONE,
    maxSkew: 5,
    whenUnsatisfiable: 'ScheduleAnyway',
  }),
  'pod-with-node-inclusion-policy': spreading('bar', {
    topologyKey: HOSTNAME,
    maxSkew: 1,
    nodeAffinityPolicy: 'Honor',
    nodeTaintsPolicy: 'Honor',
  }),
} satisfies Record<string, Template>;

interface Template {
  readonly labels?: Record<string, string>;
  /** 100m and 500Mi when absent. */
  readonly requests?: Record<string, string>;
  readonly priority?: 'high';
  readonly spec?: Omit<NonNullable<Pod['spec']>, 'containers'>;
}

/** What nodes have instead of 110 pods, 4 CPUs and 32 GiB. */
const RESOURCES: Readonly<Partial<Record<NodeTemplate, Record<string, string>>>> = {
  'node-with-name': { pods: '90000' },
  'churn/node-default': { pods: '0', cpu: '0', memory: '0' },
  'node-large': { pods: '10000', cpu: '2000', memory: '10Ti' },
};

export function podOf(template: PodTemplate, namespace: string, name: string): Pod {
  const { labels, requests = { cpu: '100m', memory: '500Mi' }, priority, spec }: Template = POD_TEMPLATES[template];
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace, name, ...(labels === undefined ? {} : { labels }) },
    spec: {
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 0,
      ...(priority === undefined ? {} : { priorityClassName: HIGH_PRIORITY.name }),
      containers: [{ name: 'pause', image: 'registry.k8s.io/pause:3.10.2', resources: { requests } }],
      ...spec,
    },
  };
}

export function nodeOf(template: NodeTemplate, name: string, labels: Record<string, string>): Node {
  const resources = { pods: '110', cpu: '4', memory: '32Gi', ...RESOURCES[template] };
  const taints = template === 'node-with-taint' ? [{ key: 'foo', effect: 'NoSchedule' }] : [];
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: { [HOSTNAME]: name, ...labels } },
    spec: { taints },
    status: { capacity: resources, allocatable: resources, conditions: [{ type: 'Ready', status: 'True' }] },
  };
}

function pod(color: string, affinity: Affinity): Template {
  return { labels: { color }, spec: { affinity } };
}

function spreading(label: string, constraint: Partial<TopologySpreadConstraint>): Template {
  const labels = { color: label };
  const base = {
    maxSkew: 1,
    topologyKey: ZONE,
    whenUnsatisfiable: 'DoNotSchedule',
    labelSelector: { matchLabels: labels },
  };
  return { labels, spec: { topologySpreadConstraints: [{ ...base, ...constraint }] } };
}

function term(color: string, topologyKey: string): PodAffinityTerm {
  return { labelSelector: { matchLabels: { color } }, topologyKey, namespaces: ['sched-1', 'sched-0'] };
}

function termOfTeams(color: string, topologyKey: string): PodAffinityTerm {
  const namespaceSelector = { matchLabels: TEAM };
  return { labelSelector: { matchLabels: { color } }, topologyKey, namespaceSelector };
}

function required(podAffinityTerm: PodAffinityTerm) {
  return { requiredDuringSchedulingIgnoredDuringExecution: [podAffinityTerm] };
}

function preferred(podAffinityTerm: PodAffinityTerm) {
  return { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm }] };
}

function onNode(name: string): Affinity {
  return nodeAffinity({ matchFields: [{ key: 'metadata.name', operator: 'In', values: [name] }] });
}

function inZone(...values: string[]): Affinity {
  return nodeAffinity({ matchExpressions: [{ key: ZONE, operator: 'In', values }] });
}

function nodeAffinity(nodeSelectorTerm: object): Affinity {
  return {
    nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [nodeSelectorTerm] } },
  };
}
