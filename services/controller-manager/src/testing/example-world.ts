import {
  CERTIFICATE_SIGNING_REQUESTS,
  CLUSTER_ROLES,
  CONFIG_MAPS,
  CRON_JOBS,
  DAEMON_SETS,
  DEPLOYMENTS,
  ENDPOINTS,
  JOBS,
  HORIZONTAL_POD_AUTOSCALERS,
  type JsonObject,
  type KubeObject,
  NAMESPACES,
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  POD_DISRUPTION_BUDGETS,
  PODS,
  REPLICA_SETS,
  REPLICATION_CONTROLLERS,
  type Resource,
  RESOURCE_QUOTAS,
  SECRETS,
  SERVICE_ACCOUNTS,
  SERVICES,
  STATEFUL_SETS,
  StatusError,
  TOKEN_TRACKING,
  VALIDATING_ADMISSION_POLICIES,
  VOLUME_ATTRIBUTES_CLASSES,
} from '@gantry/objects';

/** The uid of the first object, a claim that its volume names. */
const FIRST_UID = 'uid-1';
const DELETED = { deletionTimestamp: '2026-01-01T00:00:00Z' };
const TEMPLATE = { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
const WEB = {
  replicas: 2,
  progressDeadlineSeconds: 30,
  selector: { matchLabels: { app: 'web' } },
  template: TEMPLATE,
};

function of<T extends KubeObject>(
  resource: Resource<T>,
  metadata: KubeObject['metadata'],
  rest: object = {},
): readonly [Resource, KubeObject] {
  const apiVersion = resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
  return [resource, { apiVersion, kind: resource.kind, metadata, ...rest }];
}

/** A namespaced object of `a`. */
const inside = <T extends KubeObject>(resource: Resource<T>, name: string, rest: object = {}, metadata: object = {}) =>
  of(resource, { namespace: 'a', name, ...metadata }, rest);

/** A cluster in which every controller has something to do. A new controller adds objects for itself. */
export const EXAMPLE_WORLD: readonly (readonly [Resource, KubeObject])[] = [
  inside(PERSISTENT_VOLUME_CLAIMS, 'growing', {
    spec: { resources: { requests: { storage: '2Gi' } }, volumeName: 'grown', volumeMode: 'Filesystem' },
    status: { phase: 'Bound', capacity: { storage: '1Gi' } },
  }),
  of(NAMESPACES, { name: 'a' }, { spec: { finalizers: ['kubernetes'] }, status: { phase: 'Active' } }),
  of(NAMESPACES, { name: 'kube-node-lease' }),
  of(
    NAMESPACES,
    { name: 'ending', ...DELETED },
    { spec: { finalizers: ['kubernetes'] }, status: { phase: 'Terminating' } },
  ),
  of(CONFIG_MAPS, { namespace: 'ending', name: 'content' }),
  of(NODES, { name: 'silent' }, { status: { conditions: [{ type: 'Ready', status: 'True' }] } }),
  of(
    NODES,
    { name: 'tainted', labels: { 'gantry.dev/engine': 'engine' } },
    {
      spec: { taints: [{ key: 'k', effect: 'NoExecute' }] },
      status: {
        addresses: [{ type: 'InternalIP', address: '10.128.12.3' }],
        conditions: [{ type: 'Ready', status: 'True' }],
      },
    },
  ),
  inside(PODS, 'evicted', { spec: { containers: [], nodeName: 'tainted' } }),
  inside(PODS, 'orphan', { spec: { containers: [], nodeName: 'missing' } }),
  inside(
    PODS,
    'spared',
    {
      spec: { containers: [], nodeName: 'silent' },
      status: {
        phase: 'Running',
        podIP: '10.0.0.1',
        podIPs: [{ ip: '10.0.0.1' }],
        conditions: [{ type: 'DisruptionTarget', status: 'True', lastTransitionTime: '2025-12-31T00:00:00Z' }],
      },
    },
    { labels: { app: 'spared' } },
  ),
  inside(PODS, 'finished', { spec: { containers: [], nodeName: 'silent' }, status: { phase: 'Succeeded' } }),
  inside(PODS, 'failed', { spec: { containers: [], nodeName: 'silent' }, status: { phase: 'Failed' } }),
  inside(POD_DISRUPTION_BUDGETS, 'keep', { spec: { minAvailable: 1, selector: { matchLabels: { app: 'spared' } } } }),
  inside(SERVICES, 'front', {
    spec: { selector: { app: 'spared' }, clusterIP: '10.96.0.9', ipFamilies: ['IPv4'], ports: [{ port: 80 }] },
  }),
  inside(PODS, 'with-scratch', {
    spec: { containers: [], volumes: [{ name: 'v', ephemeral: { volumeClaimTemplate: { spec: {} } } }] },
  }),
  inside(
    SERVICES,
    'balanced-before',
    { spec: { type: 'ClusterIP', clusterIP: '10.96.0.11', ports: [{ port: 80 }] } },
    { finalizers: ['service.kubernetes.io/load-balancer-cleanup'] },
  ),
  inside(SERVICES, 'outside', { spec: { clusterIP: '10.96.0.10', ports: [{ port: 80 }] } }),
  inside(ENDPOINTS, 'outside', {
    subsets: [{ addresses: [{ ip: '192.0.2.1' }], ports: [{ port: 80, protocol: 'TCP' }] }],
  }),
  inside(DEPLOYMENTS, 'web', { spec: WEB }, { generation: 1, uid: 'web' }),
  inside(
    DAEMON_SETS,
    'everywhere',
    {
      spec: {
        selector: { matchLabels: { app: 'everywhere' } },
        template: { ...TEMPLATE, metadata: { labels: { app: 'everywhere' } } },
        updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } },
      },
    },
    { generation: 1, uid: 'everywhere' },
  ),
  inside(HORIZONTAL_POD_AUTOSCALERS, 'auto', {
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
      minReplicas: 1,
      maxReplicas: 1,
      metrics: [
        { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } } },
      ],
    },
  }),
  inside(REPLICA_SETS, 'alone', {
    spec: {
      ...WEB,
      selector: { matchLabels: { app: 'alone' } },
      template: { ...TEMPLATE, metadata: { labels: { app: 'alone' } } },
    },
  }),
  inside(JOBS, 'work', {
    spec: {
      parallelism: 1,
      completions: 1,
      selector: { matchLabels: { app: 'work' } },
      template: { ...TEMPLATE, metadata: { labels: { app: 'work' } } },
    },
  }),
  inside(CRON_JOBS, 'tick', {
    spec: { schedule: '0 0 * * *', suspend: false, jobTemplate: { spec: { suspend: true, template: TEMPLATE } } },
    status: { lastScheduleTime: '2025-12-31T00:00:00Z' },
  }),
  inside(JOBS, 'ended', {
    spec: {
      ttlSecondsAfterFinished: 10,
      selector: { matchLabels: { app: 'ended' } },
      template: { ...TEMPLATE, metadata: { labels: { app: 'ended' } } },
    },
    status: { conditions: [{ type: 'Complete', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }] },
  }),
  inside(
    STATEFUL_SETS,
    'ordered',
    {
      spec: {
        replicas: 2,
        serviceName: 'ordered',
        selector: { matchLabels: { app: 'ordered' } },
        template: { ...TEMPLATE, metadata: { labels: { app: 'ordered' } } },
      },
    },
    { generation: 1, uid: 'ordered' },
  ),
  inside(REPLICATION_CONTROLLERS, 'old', {
    spec: { replicas: 1, selector: { app: 'old' }, template: { ...TEMPLATE, metadata: { labels: { app: 'old' } } } },
  }),
  inside(
    CONFIG_MAPS,
    'left',
    {},
    {
      ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'gone', uid: 'gone' }],
    },
  ),
  inside(RESOURCE_QUOTAS, 'quota', { spec: { hard: { configmaps: '10', pods: '10' } } }),
  inside(SERVICE_ACCOUNTS, 'builder'),
  inside(
    SECRETS,
    'token',
    { type: 'kubernetes.io/service-account-token', data: { token: 'dA==' } },
    { annotations: { 'kubernetes.io/service-account.name': 'builder' } },
  ),
  inside(SERVICE_ACCOUNTS, 'idle', { secrets: [{ name: 'idle-token' }] }),
  inside(
    SECRETS,
    'idle-token',
    { type: 'kubernetes.io/service-account-token', data: { token: 'dA==' } },
    {
      annotations: { 'kubernetes.io/service-account.name': 'idle' },
      creationTimestamp: '2020-01-01T00:00:00Z',
    },
  ),
  of(CONFIG_MAPS, { ...TOKEN_TRACKING }, { data: { since: '2020-01-01' } }),
  of(
    CLUSTER_ROLES,
    { name: 'part', labels: { gather: 'yes' } },
    {
      rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }],
    },
  ),
  of(
    CLUSTER_ROLES,
    { name: 'whole' },
    {
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { gather: 'yes' } }] },
    },
  ),
  of(
    CERTIFICATE_SIGNING_REQUESTS,
    { name: 'unreadable' },
    {
      spec: { signerName: 'kubernetes.io/kubelet-serving', request: '', usages: [] },
    },
  ),
  of(VALIDATING_ADMISSION_POLICIES, { name: 'policy', generation: 1 }, { spec: { validations: [] } }),
  inside(PERSISTENT_VOLUME_CLAIMS, 'claim', {}, { ...DELETED, finalizers: ['kubernetes.io/pvc-protection'] }),
  of(
    PERSISTENT_VOLUMES,
    { name: 'grown' },
    {
      spec: { capacity: { storage: '1Gi' }, claimRef: { namespace: 'a', name: 'growing', uid: FIRST_UID } },
      status: { phase: 'Bound' },
    },
  ),
  of(PERSISTENT_VOLUMES, { name: 'volume', ...DELETED, finalizers: ['kubernetes.io/pv-protection'] }, {}),
  of(VOLUME_ATTRIBUTES_CLASSES, { name: 'class', ...DELETED, finalizers: ['kubernetes.io/vac-protection'] }, {}),
];

/** Reads paths of the example world's API that are not objects: only the scale of the Deployment, which is 0. There are no metrics. */
export async function readExample(path: string): Promise<JsonObject> {
  if (!path.endsWith('/deployments/web/scale')) throw StatusError.notFound({ group: '', resource: 'metrics' }, path);
  return { spec: { replicas: 0 }, status: { replicas: 0, selector: 'app=web' } };
}
