import type { NodeTemplate, PodTemplate } from './templates.ts';

/** A step of a workload, with scheduler_perf's operation codes. */
export type Operation =
  | {
      readonly opcode: 'createNodes';
      readonly count: number;
      readonly template?: NodeTemplate;
      /** Values of the zone's label, in turn. */
      readonly zones?: readonly string[];
    }
  | {
      readonly opcode: 'createPods';
      readonly count: number;
      readonly template: PodTemplate;
      readonly namespace?: string;
      /** This many namespaces, `namespace-0` and so on, have `count` pods each. */
      readonly namespaces?: number;
      /** The namespaces have the label `team`. */
      readonly ofTeam?: boolean;
      /** Each pod has a claim that is bound to a volume of this kind. */
      readonly volumes?: 'in-tree' | 'csi';
      /** `measured`: the time until all are scheduled is the result. `created`: the run does not wait for them. */
      readonly wait?: 'scheduled' | 'measured' | 'created';
    }
  /** From now on until the end, one of each template in turn after each interval. `recreate` deletes the one before. */
  | {
      readonly opcode: 'churn';
      readonly mode: 'create' | 'recreate';
      readonly templates: readonly (PodTemplate | 'churn/node-default')[];
      readonly intervalMs: number;
    }
  /** Deletes the pods of a namespace from now on, so many a second. */
  | { readonly opcode: 'deletePods'; readonly namespace: string; readonly perSecond: number };

export interface Workload {
  /** scheduler_perf's name of the test case. */
  readonly name: string;
  /**
   * Pods a second below which Kubernetes' CI fails: of release 1.36.2, on which the aims are based, and the newest known. Absent where there
   * is none.
   */
  readonly floor?: number;
  readonly newestFloor?: number;
  /** Asked is so many times the floor. */
  readonly timesFloor?: number;
  readonly operations: readonly Operation[];
}

const ONE_ZONE = ['zone1'];
const THREE_ZONES = ['moon-1', 'moon-2', 'moon-3'];

function nodes(
  count: number,
  more: { readonly zones?: readonly string[]; readonly template?: NodeTemplate } = {},
): Operation {
  return { opcode: 'createNodes', count, ...more };
}

type PodsOptions = Omit<Operation & { opcode: 'createPods' }, 'opcode' | 'count' | 'template'>;

function pods(count: number, template: PodTemplate, more: PodsOptions = {}): Operation {
  return { opcode: 'createPods', count, template, ...more };
}

function measured(count: number, template: PodTemplate, more: PodsOptions = {}): Operation {
  return pods(count, template, { ...more, wait: 'measured' });
}

/** Pods with terms, in the namespaces that the terms name. */
function withTerms(template: PodTemplate, counts: readonly [number, number], zones?: readonly string[]): Operation[] {
  return [
    nodes(5000, zones === undefined ? {} : { zones }),
    pods(counts[0], template, { namespace: 'sched-0' }),
    measured(counts[1], template, { namespace: 'sched-1' }),
  ];
}

/** Pods with terms that select their namespaces, in a hundred of them. */
function ofTeams(
  template: PodTemplate,
  counts: readonly [number, number, number],
  zones?: readonly string[],
): Operation[] {
  return [
    nodes(counts[0], zones === undefined ? {} : { zones }),
    pods(counts[1], template, { namespace: 'init-ns', namespaces: 100, ofTeam: true }),
    measured(counts[2], template, { namespace: 'measure-ns-0', ofTeam: true }),
  ];
}

const MIXED: readonly PodTemplate[] = [
  'pod-default',
  'pod-with-pod-affinity',
  'pod-with-pod-anti-affinity',
  'pod-with-preferred-pod-affinity',
  'pod-with-preferred-pod-anti-affinity',
];

/**
 * Workloads of scheduler_perf (test/integration/scheduler_perf in Kubernetes 1.36.2), in their sizes for performance tests. Nodes have 4
 * CPUs, 32 GiB and 110 pods. Limits of CSI drivers are left out, as the scheduler has none.
 */
export const WORKLOADS: readonly Workload[] = [
  {
    name: 'SchedulingBasic',
    floor: 270,
    newestFloor: 680,
    timesFloor: 10,
    operations: [nodes(5000), pods(1000, 'pod-default'), measured(10_000, 'pod-default')],
  },
  {
    name: 'SchedulingDaemonset',
    floor: 390,
    newestFloor: 1100,
    operations: [nodes(1, { template: 'node-with-name' }), nodes(15_000), measured(30_000, 'daemonset-pod')],
  },
  {
    name: 'SchedulingPodAntiAffinity',
    floor: 60,
    newestFloor: 60,
    operations: withTerms('pod-with-pod-anti-affinity', [1000, 2000]),
  },
  {
    name: 'SchedulingPodMatchingAntiAffinity',
    floor: 600,
    newestFloor: 595,
    operations: [
      nodes(5000),
      pods(1000, 'pod-with-pod-anti-affinity', { namespace: 'sched-0' }),
      measured(5000, 'pod-with-pod-anti-affinity-label', { namespace: 'sched-1' }),
    ],
  },
  {
    name: 'SchedulingPodAffinity',
    floor: 35,
    newestFloor: 35,
    operations: withTerms('pod-with-pod-affinity', [5000, 5000], ONE_ZONE),
  },
  {
    name: 'SchedulingPreferredPodAffinity',
    floor: 90,
    newestFloor: 90,
    operations: withTerms('pod-with-preferred-pod-affinity', [5000, 5000]),
  },
  {
    name: 'SchedulingPreferredPodAntiAffinity',
    floor: 90,
    newestFloor: 90,
    operations: withTerms('pod-with-preferred-pod-anti-affinity', [5000, 5000]),
  },
  {
    name: 'SchedulingNodeAffinity',
    floor: 220,
    newestFloor: 220,
    operations: [
      nodes(5000, { zones: ONE_ZONE }),
      pods(5000, 'pod-with-node-affinity'),
      measured(10_000, 'pod-with-node-affinity'),
    ],
  },
  {
    name: 'TopologySpreading',
    floor: 85,
    newestFloor: 460,
    operations: [
      nodes(5000, { zones: THREE_ZONES }),
      pods(5000, 'pod-default'),
      measured(5000, 'pod-with-topology-spreading'),
    ],
  },
  {
    name: 'PreferredTopologySpreading',
    floor: 125,
    newestFloor: 340,
    operations: [
      nodes(5000, { zones: THREE_ZONES }),
      pods(5000, 'pod-default'),
      measured(5000, 'pod-with-preferred-topology-spreading'),
    ],
  },
  {
    name: 'SchedulingWithNodeInclusionPolicy',
    floor: 68,
    newestFloor: 270,
    operations: [
      nodes(4000),
      nodes(1000, { template: 'node-with-taint' }),
      measured(4000, 'pod-with-node-inclusion-policy'),
    ],
  },
  {
    name: 'SchedulingRequiredPodAntiAffinityWithNSSelector',
    floor: 24,
    newestFloor: 24,
    operations: ofTeams('pod-anti-affinity-ns-selector', [6000, 40, 2000]),
  },
  {
    name: 'SchedulingPreferredAntiAffinityWithNSSelector',
    floor: 55,
    newestFloor: 55,
    operations: ofTeams('pod-preferred-anti-affinity-ns-selector', [5000, 40, 2000]),
  },
  {
    name: 'SchedulingRequiredPodAffinityWithNSSelector',
    floor: 35,
    operations: ofTeams('pod-affinity-ns-selector', [5000, 50, 2000], ONE_ZONE),
  },
  {
    name: 'SchedulingPreferredAffinityWithNSSelector',
    floor: 90,
    operations: ofTeams('pod-preferred-affinity-ns-selector', [5000, 50, 5000]),
  },
  {
    name: 'MixedSchedulingBasePod',
    floor: 140,
    newestFloor: 140,
    operations: [
      nodes(5000, { zones: ONE_ZONE }),
      ...MIXED.map((template) => pods(2000, template, { namespace: 'sched-0' })),
      measured(5000, 'pod-default'),
    ],
  },
  {
    name: 'PreemptionBasic',
    operations: [nodes(1000), pods(4000, 'pod-low-priority'), measured(1000, 'pod-high-priority')],
  },
  {
    name: 'PreemptionAsync',
    floor: 160,
    newestFloor: 570,
    operations: [
      nodes(5000),
      pods(20_000, 'pod-low-priority'),
      { opcode: 'churn', mode: 'create', templates: ['pod-high-priority'], intervalMs: 200 },
      measured(5000, 'pod-default'),
    ],
  },
  {
    name: 'Unschedulable',
    floor: 140,
    newestFloor: 590,
    operations: [
      nodes(5000),
      pods(100, 'pod-default'),
      { opcode: 'churn', mode: 'create', templates: ['pod-high-priority-large-cpu'], intervalMs: 200 },
      measured(10_000, 'pod-default'),
    ],
  },
  {
    name: 'SchedulingInTreePVs',
    floor: 90,
    operations: [
      nodes(5000),
      pods(1000, 'light-pod', { volumes: 'in-tree' }),
      measured(2000, 'light-pod', { volumes: 'in-tree' }),
    ],
  },
  {
    name: 'SchedulingCSIPVs',
    floor: 48,
    operations: [
      nodes(5000),
      pods(5000, 'light-pod', { volumes: 'csi' }),
      measured(5000, 'light-pod', { volumes: 'csi' }),
    ],
  },
  {
    name: 'SchedulingWithMixedChurn',
    floor: 265,
    newestFloor: 710,
    operations: [
      nodes(5000),
      {
        opcode: 'churn',
        mode: 'recreate',
        templates: ['churn/node-default', 'pod-high-priority-large-cpu'],
        intervalMs: 1000,
      },
      measured(10_000, 'pod-default'),
    ],
  },
  {
    name: 'SchedulingWhileGated',
    floor: 130,
    newestFloor: 910,
    operations: [
      nodes(1, { template: 'node-with-name' }),
      pods(10_000, 'gated-pod', { wait: 'created' }),
      pods(20_000, 'light-pod', { namespace: 'deleted' }),
      { opcode: 'deletePods', namespace: 'deleted', perSecond: 50 },
      measured(20_000, 'light-pod'),
    ],
  },
];
