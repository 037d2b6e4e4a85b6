import type {
  FlowSchema,
  FlowSchemaSpec,
  FlowcontrolSubject,
  LimitedPriorityLevelConfiguration,
  NonResourcePolicyRule,
  PriorityLevelConfiguration,
  PriorityLevelConfigurationSpec,
  ResourcePolicyRule,
} from '@gantry/objects';

/**
 * The FlowSchemas and PriorityLevelConfigurations of every cluster. Mandatory ones cannot be changed (except the shares of `exempt`).
 * Suggested ones can be changed once their owner sets the annotation accordingly.
 */
const API_VERSION = 'flowcontrol.apiserver.k8s.io/v1';
/** While it is "true", the API server resets the object's spec to its built-in one. */
export const FLOW_AUTO_UPDATE = 'apf.kubernetes.io/autoupdate-spec';

const EVERYBODY = ['system:unauthenticated', 'system:authenticated'];

function groups(...names: readonly string[]): FlowcontrolSubject[] {
  return names.map((name) => ({ kind: 'Group', group: { name } }));
}

function users(...names: readonly string[]): FlowcontrolSubject[] {
  return names.map((name) => ({ kind: 'User', user: { name } }));
}

function systemAccounts(): FlowcontrolSubject[] {
  return [{ kind: 'ServiceAccount', serviceAccount: { name: '*', namespace: 'kube-system' } }];
}

function resources(rule: Partial<ResourcePolicyRule>): ResourcePolicyRule {
  return { verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'], ...rule };
}

/** Rules without false values, as they are stored. */
function inNamespaces(rule: Partial<ResourcePolicyRule>): ResourcePolicyRule {
  const { clusterScope: _, ...kept } = resources(rule);
  return kept;
}

const EVERY_PATH: NonResourcePolicyRule = { verbs: ['*'], nonResourceURLs: ['*'] };

interface Flow {
  readonly name: string;
  readonly level: string;
  readonly precedence: number;
  readonly by?: 'ByUser' | 'ByNamespace';
  readonly subjects: FlowcontrolSubject[];
  readonly resourceRules?: ResourcePolicyRule[];
  /** Every path when absent, none when empty. */
  readonly nonResourceRules?: NonResourcePolicyRule[];
}

function flowSchema(flow: Flow): FlowSchema {
  const { resourceRules = [resources({})], nonResourceRules = [EVERY_PATH] } = flow;
  const spec: FlowSchemaSpec = {
    priorityLevelConfiguration: { name: flow.level },
    matchingPrecedence: flow.precedence,
    ...(flow.by === undefined ? {} : { distinguisherMethod: { type: flow.by } }),
    rules: [
      {
        subjects: flow.subjects,
        ...(resourceRules.length === 0 ? {} : { resourceRules }),
        ...(nonResourceRules.length === 0 ? {} : { nonResourceRules }),
      },
    ],
  };
  return { apiVersion: API_VERSION, kind: 'FlowSchema', metadata: metadataOf(flow.name), spec };
}

function metadataOf(name: string): FlowSchema['metadata'] {
  return { name, annotations: { [FLOW_AUTO_UPDATE]: 'true' } };
}

function priorityLevel(name: string, spec: PriorityLevelConfigurationSpec): PriorityLevelConfiguration {
  return { apiVersion: API_VERSION, kind: 'PriorityLevelConfiguration', metadata: metadataOf(name), spec };
}

function queued(
  name: string,
  shares: number,
  lendable: number,
  queues: number,
  hand: number,
): PriorityLevelConfiguration {
  const limited: LimitedPriorityLevelConfiguration = {
    nominalConcurrencyShares: shares,
    lendablePercent: lendable,
    limitResponse: { type: 'Queue', queuing: { queues, handSize: hand, queueLengthLimit: 50 } },
  };
  return priorityLevel(name, { type: 'Limited', limited });
}

export const MANDATORY_PRIORITY_LEVELS: readonly PriorityLevelConfiguration[] = [
  priorityLevel('catch-all', {
    type: 'Limited',
    limited: { nominalConcurrencyShares: 5, lendablePercent: 0, limitResponse: { type: 'Reject' } },
  }),
  priorityLevel('exempt', { type: 'Exempt', exempt: { nominalConcurrencyShares: 0, lendablePercent: 0 } }),
];

export const SUGGESTED_PRIORITY_LEVELS: readonly PriorityLevelConfiguration[] = [
  queued('system', 30, 33, 64, 6),
  queued('node-high', 40, 25, 64, 6),
  queued('leader-election', 10, 0, 16, 4),
  queued('workload-high', 40, 50, 128, 6),
  queued('workload-low', 100, 90, 128, 6),
  queued('global-default', 20, 50, 128, 6),
];

export const MANDATORY_FLOW_SCHEMAS: readonly FlowSchema[] = [
  flowSchema({ name: 'exempt', level: 'exempt', precedence: 1, subjects: groups('system:masters') }),
  flowSchema({
    name: 'catch-all',
    level: 'catch-all',
    precedence: 10000,
    by: 'ByUser',
    subjects: groups(...EVERYBODY),
  }),
];

export const SUGGESTED_FLOW_SCHEMAS: readonly FlowSchema[] = [
  flowSchema({
    name: 'system-nodes',
    level: 'system',
    precedence: 500,
    by: 'ByUser',
    subjects: groups('system:nodes'),
  }),
  flowSchema({
    name: 'system-node-high',
    level: 'node-high',
    precedence: 400,
    by: 'ByUser',
    subjects: groups('system:nodes'),
    resourceRules: [
      resources({ apiGroups: [''], resources: ['nodes', 'nodes/status'] }),
      inNamespaces({ apiGroups: ['coordination.k8s.io'], resources: ['leases'] }),
    ],
    nonResourceRules: [],
  }),
  flowSchema({
    name: 'probes',
    level: 'exempt',
    precedence: 2,
    subjects: groups(...EVERYBODY),
    resourceRules: [],
    nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/healthz', '/readyz', '/livez'] }],
  }),
  flowSchema({
    name: 'system-leader-election',
    level: 'leader-election',
    precedence: 100,
    by: 'ByUser',
    subjects: [...users('system:kube-controller-manager', 'system:kube-scheduler'), ...systemAccounts()],
    resourceRules: [
      inNamespaces({
        verbs: ['get', 'create', 'update'],
        apiGroups: ['coordination.k8s.io'],
        resources: ['leases'],
      }),
    ],
    nonResourceRules: [],
  }),
  ...['kube-controller-manager', 'kube-scheduler'].map((name) =>
    flowSchema({ name, level: 'workload-high', precedence: 800, by: 'ByNamespace', subjects: users(`system:${name}`) }),
  ),
  flowSchema({
    name: 'kube-system-service-accounts',
    level: 'workload-high',
    precedence: 900,
    by: 'ByNamespace',
    subjects: systemAccounts(),
  }),
  flowSchema({
    name: 'service-accounts',
    level: 'workload-low',
    precedence: 9000,
    by: 'ByUser',
    subjects: groups('system:serviceaccounts'),
  }),
  flowSchema({
    name: 'global-default',
    level: 'global-default',
    precedence: 9900,
    by: 'ByUser',
    subjects: groups(...EVERYBODY),
  }),
];
