import { CONFIG_MAPS, DEPLOYMENTS, SECRETS } from '@gantry/objects';
import { expect, it } from 'vitest';
import { type Controller, declare, rolesOf, validating, watchSelf } from './index.ts';

const declared = declare({ name: 'd', for: DEPLOYMENTS, owns: [CONFIG_MAPS], desire: () => ({ objects: [] }) });
const imperative: Controller = {
  name: 'i',
  watches: [watchSelf(CONFIG_MAPS)],
  rights: [
    { resource: SECRETS, verbs: ['get'] },
    { resource: DEPLOYMENTS, subresource: 'scale', verbs: ['patch'] },
  ],
  reconcile: async () => ({}),
};
const rules = (all: ReturnType<typeof rolesOf>, name: string) =>
  all.flatMap((one) =>
    one.metadata.name === name && 'rules' in one ? [[one.kind, one.metadata.namespace, one.rules]] : [],
  );

it('grants what is watched, owned and declared, and nothing else', () => {
  const roles = rolesOf({ name: 'op', controllers: [declared, imperative] }, { namespace: 'ops' });
  expect(roles.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
    'ServiceAccount op',
    'ClusterRole op',
    'ClusterRoleBinding op',
  ]);
  expect(rules(roles, 'op')).toEqual([
    [
      'ClusterRole',
      undefined,
      [
        {
          apiGroups: [''],
          resources: ['configmaps'],
          verbs: ['create', 'delete', 'get', 'list', 'patch', 'watch'],
        },
        { apiGroups: [''], resources: ['secrets'], verbs: ['get'] },
        { apiGroups: ['apps'], resources: ['deployments'], verbs: ['list', 'watch'] },
        { apiGroups: ['apps'], resources: ['deployments/scale'], verbs: ['patch'] },
        { apiGroups: ['apps'], resources: ['deployments/status'], verbs: ['patch'] },
        { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] },
      ],
    ],
  ]);
});

it('grants the Lease of the leader by its name', () => {
  const options = { name: 'op', controllers: [imperative], leaderElection: { name: 'lock' } };
  expect(rules(rolesOf(options, { namespace: 'ops' }), 'op-leader')).toEqual([
    [
      'Role',
      'ops',
      [
        { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create'] },
        {
          apiGroups: ['coordination.k8s.io'],
          resources: ['leases'],
          resourceNames: ['lock'],
          verbs: ['get', 'update'],
        },
      ],
    ],
  ]);
});

it('grants them in one namespace if nothing is watched outside it', () => {
  const caches = [{ ...CONFIG_MAPS, namespace: 'a' }];
  const kinds = (of: readonly Controller[]) =>
    rolesOf({ name: 'op', controllers: of, caches }, { namespace: 'ops', serviceAccount: 'robot' }).map(
      ({ kind, metadata }) => [kind, metadata.name, metadata.namespace],
    );
  expect(kinds([imperative])).toEqual([
    ['ServiceAccount', 'robot', 'ops'],
    ['Role', 'op', 'a'],
    ['RoleBinding', 'op', 'a'],
  ]);
  expect(kinds([imperative, declared]).map(([kind]) => kind)).toContain('ClusterRole');
});

it('grants them in each of several namespaces', () => {
  const caches = [{ ...CONFIG_MAPS, namespace: ['b', 'a'] }];
  const roles = rolesOf({ name: 'op', controllers: [imperative], caches }, { namespace: 'ops' });
  expect(roles.map(({ kind, metadata }) => `${kind} ${metadata.namespace}`)).toEqual([
    'ServiceAccount ops',
    'Role a',
    'RoleBinding a',
    'Role b',
    'RoleBinding b',
  ]);
});

it('grants what webhooks need: a Secret for the certificate, and the objects that name it', () => {
  const webhooks = {
    admission: [validating({ name: 'v.backups.example.com', for: CONFIG_MAPS, validate: () => ({}) })],
  };
  const roles = rolesOf({ name: 'op', controllers: [], webhooks }, { namespace: 'ops' });
  expect(rules(roles, 'op-webhooks')).toEqual([
    [
      'Role',
      'ops',
      [
        { apiGroups: [''], resources: ['secrets'], verbs: ['create'] },
        { apiGroups: [''], resources: ['secrets'], resourceNames: ['op-webhooks'], verbs: ['get', 'update'] },
      ],
    ],
    [
      'ClusterRole',
      undefined,
      [
        {
          apiGroups: ['admissionregistration.k8s.io'],
          resources: ['validatingwebhookconfigurations'],
          resourceNames: ['op'],
          verbs: ['get', 'patch'],
        },
      ],
    ],
  ]);
});
