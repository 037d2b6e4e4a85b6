import type { GroupResource, KubeObject, PodSpec, ResourceQuota } from '@gantry/objects';
import { expect, it } from 'vitest';
import { totalUsage } from './quota-usage.ts';

const core = (resource: string): GroupResource => ({ group: '', resource });
const quota = (hard: readonly string[], scopes?: readonly string[]): ResourceQuota =>
  ({ spec: { hard: Object.fromEntries(hard.map((name) => [name, '9'])), scopes } }) as ResourceQuota;
const object = (spec: object): KubeObject => ({ metadata: { name: 'a' }, spec }) as unknown as KubeObject;

const AMOUNTS = { cpu: '500m', memory: '252Mi', 'ephemeral-storage': '30Gi', 'example.com/dongle': '2' };
const limits = { cpu: '1', memory: '400Mi', 'ephemeral-storage': '30Gi', 'example.com/dongle': '2' };
const pod = (resources: object, more: Partial<PodSpec> = {}) =>
  object({ containers: [{ name: 'c', image: 'i', resources }], ...more });
const BOUNDED = pod({ requests: AMOUNTS, limits });
const ENDING = pod({ requests: AMOUNTS, limits }, { activeDeadlineSeconds: 3600 });
const BEST_EFFORT = pod({});

it.each<[string, string, object, Record<string, string>]>([
  [
    'a pod that asks for amounts',
    'pods',
    BOUNDED,
    {
      pods: '1',
      cpu: '500m',
      memory: '252Mi',
      'requests.cpu': '500m',
      'limits.cpu': '1',
      'limits.memory': '400Mi',
      'ephemeral-storage': '30Gi',
      'requests.example.com/dongle': '2',
      'count/pods': '1',
      services: '0',
    },
  ],
  [
    'a Service of the cluster',
    'services',
    object({ type: 'ClusterIP', ports: [{ port: 80 }] }),
    { services: '1', 'services.nodeports': '0', 'services.loadbalancers': '0' },
  ],
  [
    'a Service with node ports',
    'services',
    object({ type: 'NodePort', ports: [{ port: 80 }, { port: 81 }] }),
    { services: '1', 'services.nodeports': '2', 'services.loadbalancers': '0' },
  ],
  [
    'a load balancer',
    'services',
    object({ type: 'LoadBalancer', ports: [{ port: 80 }] }),
    { services: '1', 'services.nodeports': '1', 'services.loadbalancers': '1' },
  ],
  [
    'a load balancer without node ports',
    'services',
    object({ type: 'LoadBalancer', allocateLoadBalancerNodePorts: false, ports: [{ port: 80 }] }),
    { services: '1', 'services.nodeports': '0', 'services.loadbalancers': '1' },
  ],
  ['a ReplicationController', 'replicationcontrollers', object({}), { replicationcontrollers: '1', pods: '0' }],
  ['a ConfigMap', 'configmaps', object({}), { configmaps: '1', 'count/configmaps': '1', secrets: '0' }],
  ['a Secret', 'secrets', object({}), { secrets: '1' }],
  ['a ResourceQuota', 'resourcequotas', object({}), { resourcequotas: '1' }],
])('quotas count %s', (_name, resource, one, usage) => {
  const counted = [{ of: core(resource), object: one as KubeObject }];
  expect(totalUsage(quota(Object.keys(usage)), counted)).toEqual(usage);
});

it('a ReplicaSet counts by its group', () => {
  const counted = [{ of: { group: 'apps', resource: 'replicasets' }, object: object({}) }];
  const names = ['count/replicasets.apps', 'count/replicasets', 'pods'];
  expect(totalUsage(quota(names), counted)).toEqual({ [names[0] ?? '']: '1', 'count/replicasets': '0', pods: '0' });
});

it.each<[string, KubeObject, boolean]>([
  ['Terminating', ENDING, true],
  ['Terminating', BOUNDED, false],
  ['NotTerminating', ENDING, false],
  ['NotTerminating', BOUNDED, true],
  ['BestEffort', BEST_EFFORT, true],
  ['BestEffort', BOUNDED, false],
  ['NotBestEffort', BEST_EFFORT, false],
  ['NotBestEffort', BOUNDED, true],
])('a quota of the scope %s counts the pods in it alone (case %#)', (scope, one, counts) => {
  const used = totalUsage(quota(['pods'], [scope]), [{ of: core('pods'), object: one }]);
  expect(used).toEqual({ pods: counts ? '1' : '0' });
});

it('a pod is counted where it is in every scope', () => {
  const both = quota(['pods'], ['NotTerminating', 'NotBestEffort']);
  const counted = [BOUNDED, ENDING, BEST_EFFORT].map((one) => ({ of: core('pods'), object: one }));
  expect(totalUsage(both, counted)).toEqual({ pods: '1' });
});
