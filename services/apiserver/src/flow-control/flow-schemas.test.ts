import { MANDATORY_FLOW_SCHEMAS, SUGGESTED_FLOW_SCHEMAS } from '@gantry/kinds';
import type { FlowSchema } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { type FlowRequest, FlowSchemas } from './flow-schemas.ts';

const DEFAULTS = new FlowSchemas([...MANDATORY_FLOW_SCHEMAS, ...SUGGESTED_FLOW_SCHEMAS]);

function user(name: string, ...groups: readonly string[]): FlowRequest['user'] {
  return { name, uid: '', groups: [...groups, 'system:authenticated'], extra: {} };
}

function resource(who: FlowRequest['user'], verb: string, path: string): FlowRequest {
  const [group = '', namespace = '', name = '', subresource = ''] = path.split('/');
  return { kind: 'resource', user: who, verb, group, namespace, resource: name, subresource };
}

const NODE = user('system:node:a', 'system:nodes');
const MANAGER = user('system:kube-controller-manager');
const DNS = user('system:serviceaccount:kube-system:dns', 'system:serviceaccounts');
const APP = user('system:serviceaccount:default:app', 'system:serviceaccounts');
const ALICE = user('alice');
const ANONYMOUS = { name: 'system:anonymous', uid: '', groups: ['system:unauthenticated'], extra: {} };

describe('Kubernetes’ flow schemas', () => {
  it.each([
    ['exempt', resource(user('admin', 'system:masters'), 'list', '//pods')],
    ['probes', { kind: 'path', user: ANONYMOUS, verb: 'get', path: '/readyz' }],
    ['global-default', { kind: 'path', user: ANONYMOUS, verb: 'get', path: '/readyz/etcd' }],
    ['system-leader-election', resource(MANAGER, 'update', 'coordination.k8s.io/kube-system/leases')],
    ['kube-controller-manager', resource(MANAGER, 'list', 'coordination.k8s.io/kube-system/leases')],
    ['kube-scheduler', resource(user('system:kube-scheduler'), 'create', '/default/pods/binding')],
    ['system-node-high', resource(NODE, 'update', 'coordination.k8s.io/kube-node-lease/leases')],
    ['system-node-high', resource(NODE, 'patch', '//nodes/status')],
    ['system-nodes', resource(NODE, 'list', '//pods')],
    ['system-leader-election', resource(DNS, 'update', 'coordination.k8s.io/kube-system/leases')],
    ['kube-system-service-accounts', resource(DNS, 'list', '//endpoints')],
    ['service-accounts', resource(APP, 'list', '/default/pods')],
    ['global-default', resource(ALICE, 'list', '//pods')],
    ['global-default', resource(ANONYMOUS, 'list', '//pods')],
  ] as const)('%s', (expected, request) => {
    expect(DEFAULTS.match(request)?.name).toBe(expected);
  });

  it('make one flow of each user, or of each namespace', () => {
    const flow = (request: FlowRequest) => DEFAULTS.match(request)?.flowOf(request);
    expect(flow(resource(ALICE, 'list', '/default/pods'))).toBe('alice');
    expect(flow(resource(MANAGER, 'list', '/default/pods'))).toBe('default');
  });
});

describe('a flow schema', () => {
  const schema = (name: string, precedence: number, rule: object): FlowSchema => ({
    apiVersion: 'flowcontrol.apiserver.k8s.io/v1',
    kind: 'FlowSchema',
    metadata: { name },
    spec: {
      priorityLevelConfiguration: { name: 'x' },
      matchingPrecedence: precedence,
      rules: [{ subjects: [{ kind: 'Group', group: { name: 'system:authenticated' } }], ...rule }],
    },
  });
  const pods = { verbs: ['list'], apiGroups: [''], resources: ['pods'] };

  it('goes before one of higher precedence, and by its name before an equal one', () => {
    const rule = { resourceRules: [{ ...pods, namespaces: ['*'] }] };
    const schemas = new FlowSchemas([schema('z', 5, rule), schema('b', 4, rule), schema('a', 4, rule)]);
    expect(schemas.match(resource(ALICE, 'list', '/default/pods'))?.name).toBe('a');
  });

  it('matches what has no namespace only with clusterScope', () => {
    const inNamespaces = new FlowSchemas([schema('a', 1, { resourceRules: [{ ...pods, namespaces: ['*'] }] })]);
    expect(inNamespaces.match(resource(ALICE, 'list', '//pods'))).toBeUndefined();
    const everywhere = new FlowSchemas([schema('a', 1, { resourceRules: [{ ...pods, clusterScope: true }] })]);
    expect(everywhere.match(resource(ALICE, 'list', '//pods'))?.name).toBe('a');
    expect(everywhere.match(resource(ALICE, 'list', '/default/pods'))).toBeUndefined();
  });
});
