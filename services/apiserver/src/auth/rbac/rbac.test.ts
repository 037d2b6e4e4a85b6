import { findResource } from '@gantry/kinds';
import type { KubeObject, PolicyRule } from '@gantry/objects';
import { must } from '@gantry/base';
import { describe, expect, it } from 'vitest';
import { createAuthorizer } from '../authz/authorizer.ts';
import { authenticated, userOfIdentity } from '../authn/identity.ts';
import { createEscalationCheck } from '../authz/escalation-check.ts';
import { allows, missingRights, parseRule } from './rules.ts';
import { bootstrapPolicy } from './testing.ts';

const GROUP = 'rbac.authorization.k8s.io';
const meta = { apiVersion: `${GROUP}/v1` };
const bob = authenticated('bob', ['devs']);
const account = authenticated('system:serviceaccount:ns:robot', [
  'system:serviceaccounts',
  'system:serviceaccounts:ns',
]);
const roles = bootstrapPolicy({
  roles: [
    { ...meta, kind: 'ClusterRole', metadata: { name: 'reader' }, rules: [parseRule('get,list core pods,pods/log')] },
    {
      ...meta,
      kind: 'ClusterRole',
      metadata: { name: 'rbac' },
      rules: [parseRule(`* ${GROUP} clusterroles,rolebindings`)],
    },
  ].map((role) => ({ ...role, rules: role.rules })),
  bindings: [
    {
      ...meta,
      kind: 'RoleBinding',
      metadata: { name: 'b', namespace: 'ns' },
      roleRef: { apiGroup: GROUP, kind: 'ClusterRole', name: 'reader' },
      subjects: [
        { kind: 'Group', apiGroup: GROUP, name: 'devs' },
        { kind: 'ServiceAccount', name: 'robot' },
      ],
    },
    {
      ...meta,
      kind: 'RoleBinding',
      metadata: { name: 'dangling', namespace: 'ns' },
      roleRef: { apiGroup: GROUP, kind: 'Role', name: 'gone' },
      subjects: [{ kind: 'User', apiGroup: GROUP, name: 'bob' }],
    },
  ],
});
const nothing = { get: () => undefined, podsOnNode: () => [], ingressesIn: () => [], hasExpired: () => true };
const access = createAuthorizer(nothing, roles);

function ask(user: typeof bob, verb: string, group: string, resource: string, namespace: string, name = '') {
  const [plural = '', subresource = ''] = resource.split('/');
  const target = { definition: { group, resource: plural }, namespace, name, subresource };
  return access.decide(user, { verb, target, object: undefined, fieldSelector: '' });
}

describe('roles', () => {
  it('of named objects cover a list or watch that is narrowed to one of them, and no deletion of many', () => {
    const rule = {
      verbs: ['list', 'watch', 'deletecollection'],
      apiGroups: [''],
      resources: ['configmaps'],
      resourceNames: ['a'],
    };
    const named = createAuthorizer(
      nothing,
      bootstrapPolicy({
        roles: [{ ...meta, kind: 'ClusterRole', metadata: { name: 'named' }, rules: [rule] }],
        bindings: [
          {
            ...meta,
            kind: 'RoleBinding',
            metadata: { name: 'named', namespace: 'ns' },
            roleRef: { apiGroup: GROUP, kind: 'ClusterRole', name: 'named' },
            subjects: [{ kind: 'User', apiGroup: GROUP, name: 'bob' }],
          },
        ],
      }),
    );
    const definition = { group: '', resource: 'configmaps' };
    const target = { definition, namespace: 'ns', name: '', subresource: '' };
    const may = (verb: string, fieldSelector: string) =>
      named.decide(bob, { verb, target, object: undefined, fieldSelector }).allowed;
    expect(rule.verbs.map((verb) => may(verb, 'metadata.name=a'))).toEqual([true, true, false]);
    expect(rule.verbs.map((verb) => may(verb, 'metadata.name=b'))).toEqual([false, false, false]);
  });

  it.each([
    ['get core pods', 'get', 'pods', '', true],
    ['get core pods', 'get', 'pods/log', '', false],
    ['get core */log', 'get', 'pods/log', '', true],
    ['get core *', 'get', 'pods/log', '', true],
    ['get core pods a,b', 'get', 'pods', 'b', true],
    ['get core pods a,b', 'list', 'pods', '', false],
    ['get core pods a,b', 'get', 'pods', 'c', false],
    ['* * *', 'delete', 'nodes/status', 'x', true],
  ])('%s: %s %s %s is %s', (line, verb, resource, name, wanted) => {
    const [plural = '', subresource = ''] = resource.split('/');
    const action = { kind: 'resource', verb, group: '', resource: plural, subresource, namespace: '', name } as const;
    expect(allows(parseRule(line), action)).toBe(wanted);
  });

  it('count in the namespace of their binding only, for groups and service accounts alike', () => {
    expect(ask(bob, 'list', '', 'pods', 'ns')).toEqual({
      allowed: true,
      reason: 'RBAC: allowed by RoleBinding "b/ns" of ClusterRole "reader" to Group "devs"',
    });
    expect(ask(account, 'get', '', 'pods/log', 'ns', 'x').allowed).toBe(true);
    expect(ask(bob, 'list', '', 'pods', '').allowed).toBe(false);
    expect(ask(account, 'list', '', 'pods', 'other').allowed).toBe(false);
  });

  it('say what a binding refers to in vain', () => {
    expect(ask(bob, 'list', '', 'secrets', 'ns').reason).toBe(`RBAC: role.${GROUP} "gone" not found`);
  });

  it('give discovery to all who are known and nothing but their name to service accounts', () => {
    expect(access.decidePath(account, 'get', '/apis/apps/v1').allowed).toBe(true);
    expect(access.decidePath(account, 'get', '/metrics').allowed).toBe(false);
    expect(ask(account, 'create', 'authorization.k8s.io', 'selfsubjectaccessreviews', '').allowed).toBe(true);
    expect(ask(account, 'list', '', 'pods', 'default').allowed).toBe(false);
  });

  it('give no service of the cluster more than its fixed rights', () => {
    const scheduler = userOfIdentity('system:kube-scheduler', ['gantry:services']);
    expect(ask(scheduler, 'create', 'authentication.k8s.io', 'tokenreviews', '').allowed).toBe(false);
    expect(ask(scheduler, 'create', '', 'pods/binding', 'ns', 'x').allowed).toBe(true);
  });
});

describe('giving rights', () => {
  const cover = (held: string[], wanted: string[]): readonly PolicyRule[] =>
    missingRights(held.map(parseRule), wanted.map(parseRule));

  it('covers what rules say together', () => {
    expect(cover(['get core pods', 'list core pods'], ['get,list core pods'])).toEqual([]);
    expect(cover(['* core *'], ['get core pods/log x'])).toEqual([]);
    expect(cover(['get core pods a'], ['get core pods'])).toHaveLength(1);
    expect(cover(['get paths:/api/*'], ['get paths:/api/v1'])).toEqual([]);
    expect(cover(['get core pods', 'list core pods'], ['get,list,watch core pods,nodes'])).toEqual([
      { apiGroups: [''], resources: ['pods'], verbs: ['watch'] },
      ...['get', 'list', 'watch'].map((verb) => ({ apiGroups: [''], resources: ['nodes'], verbs: [verb] })),
    ]);
  });

  it('is bounded, however many rights the lists of a rule make', () => {
    const [a, b, c] = ['a', 'b', 'c'].map((text) => Array.from({ length: 1000 }, (_, index) => `${text}${index}`));
    const wanted = [{ apiGroups: a ?? [], resources: b ?? [], verbs: c ?? [] }];
    const held = (c ?? []).map((verb) => ({ apiGroups: ['*'], resources: ['*'], verbs: [verb] }));
    expect(missingRights([], wanted).length).toBeLessThan(1000);
    expect(missingRights(held, wanted)).not.toEqual([]);
    expect(missingRights([{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }], wanted)).toEqual([]);
  });

  it('is refused for what the giver has not, in Kubernetes words', () => {
    const guard = createEscalationCheck(access, roles);
    const definition = must(findResource({ group: GROUP, version: 'v1', resource: 'clusterroles' }), 'clusterroles');
    const object = {
      ...meta,
      kind: 'ClusterRole',
      metadata: { name: 'mine' },
      rules: [parseRule('get,delete core secrets')],
    } as KubeObject;
    const change = { definition, namespace: '', subresource: '', object, old: undefined };
    expect(() => guard.check({ ...change, user: bob })).toThrow(
      'clusterroles.rbac.authorization.k8s.io "mine" is forbidden: user "bob" (groups=["devs" "system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[""], Resources:["secrets"], Verbs:["get" "delete"]}',
    );
    guard.check({ ...change, user: userOfIdentity('admin', ['system:masters']) });
  });
});
