import { findResource } from '@gantry/kinds';
import type { JsonObject, KubeObject } from '@gantry/objects';
import { must } from '@gantry/base';
import { describe, expect, it } from 'vitest';
import type { AccessTarget } from './request.ts';
import type { User } from '../user.ts';
import { NOT_AUDITED } from '../../audit/index.ts';
import { type Asker, createAuthorizer } from './authorizer.ts';
import { ANONYMOUS, authenticated, userOfIdentity } from '../authn/identity.ts';
import type { ObjectLookup } from './object-lookup.ts';
import { bootstrapPolicy } from '../rbac/testing.ts';

const asker = (user: User): Asker => ({ user, audit: NOT_AUDITED });

const node = (name: string, engine: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels: { 'gantry.dev/engine': engine } },
});

const pod = (name: string, nodeName: string, secret: string): KubeObject =>
  ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', uid: `uid-${name}` },
    spec: {
      nodeName,
      serviceAccountName: `sa-${name}`,
      containers: [{ name: 'c', env: [{ name: 'X', valueFrom: { secretKeyRef: { name: secret, key: 'k' } } }] }],
      volumes: [{ name: 'v', projected: { sources: [{ configMap: { name: 'kube-root-ca.crt' } }] } }],
    },
  }) as KubeObject;

const nodes = [node('a-1', 'one'), node('a-2', 'one'), node('b-1', 'two')];
const pods = [
  pod('mine', 'a-1', 'my-secret'),
  pod('neighbour', 'a-2', 'their-secret'),
  pod('far', 'b-1', 'far-secret'),
];
const request: KubeObject = {
  apiVersion: 'certificates.k8s.io/v1',
  kind: 'CertificateSigningRequest',
  metadata: { name: 'csr' },
  spec: { username: 'system:node:a-1' },
} as KubeObject;

const lookup: ObjectLookup = {
  get: (resource, _namespace, name) => {
    const from = { nodes, pods, certificatesigningrequests: [request], secrets: [], serviceaccounts: [] }[resource];
    return from.find((object) => object.metadata.name === name);
  },
  podsOnNode: (name) => pods.filter((p) => (p as { spec?: { nodeName?: string } }).spec?.nodeName === name),
};
const authorizer = createAuthorizer(lookup, bootstrapPolicy());

const admin = userOfIdentity('kubernetes-admin', ['system:masters']);
const agent = userOfIdentity('system:node:a-1', ['system:nodes']);
const scheduler = userOfIdentity('system:kube-scheduler', ['gantry:services']);
const bootstrapper = authenticated('system:bootstrap:abcdef', ['system:bootstrappers']);
const account = authenticated('system:serviceaccount:default:default', ['system:serviceaccounts']);

interface Case {
  readonly path: string;
  readonly object?: JsonObject;
  readonly fieldSelector?: string;
}

function target(path: string): AccessTarget {
  const [resource = '', namespace = '', name = '', subresource = ''] = path.split(' ').map((p) => (p === '-' ? '' : p));
  const groups: Record<string, string> = {
    leases: 'coordination.k8s.io',
    deployments: 'apps',
    selfsubjectreviews: 'authentication.k8s.io',
    certificatesigningrequests: 'certificates.k8s.io',
  };
  const definition = must(findResource({ group: groups[resource] ?? '', version: 'v1', resource }), resource);
  return { definition, namespace, name, subresource };
}

function allows(user: User, verb: string, { path, object, fieldSelector }: Case): boolean {
  try {
    authorizer.authorize(asker(user), verb, target(path), object, fieldSelector);
    return true;
  } catch (error) {
    if (error instanceof Error && error.message.includes('cannot')) return false;
    throw error;
  }
}

describe('an agent', () => {
  it.each([
    ['get', { path: 'nodes - b-1' }],
    ['create', { path: 'nodes - -', object: { metadata: { name: 'a-1' } } }],
    ['patch', { path: 'nodes - a-1 status' }],
    ['delete', { path: 'nodes - a-2' }],
    ['list', { path: 'pods - -', fieldSelector: 'spec.nodeName=a-1' }],
    ['watch', { path: 'pods - -', fieldSelector: 'spec.nodeName=a-2' }],
    ['patch', { path: 'pods default mine status' }],
    ['delete', { path: 'pods default neighbour' }],
    ['get', { path: 'secrets default my-secret' }],
    ['watch', { path: 'configmaps default -', fieldSelector: 'metadata.name=kube-root-ca.crt' }],
    [
      'create',
      { path: 'serviceaccounts default sa-mine token', object: { spec: { boundObjectRef: { uid: 'uid-mine' } } } },
    ],
    ['update', { path: 'leases kube-node-lease a-1' }],
    ['update', { path: 'leases kube-system gantry-host-one' }],
    ['create', { path: 'events default -' }],
    ['watch', { path: 'services - -' }],
    ['get', { path: 'certificatesigningrequests - csr' }],
    ['create', { path: 'selfsubjectreviews - -' }],
  ] satisfies [string, Case][])('may %s %j', (verb, of) => {
    expect(allows(agent, verb, of)).toBe(true);
  });

  it.each([
    ['patch', { path: 'nodes - b-1 status' }],
    ['get', { path: 'nodes - b-1 proxy' }],
    ['create', { path: 'nodes - a-1 proxy' }],
    ['create', { path: 'nodes - -', object: { metadata: { name: 'b-2' } } }],
    ['list', { path: 'pods - -' }],
    ['list', { path: 'pods - -', fieldSelector: 'spec.nodeName=b-1' }],
    ['list', { path: 'pods - -', fieldSelector: 'spec.nodeName!=a-1' }],
    ['patch', { path: 'pods default far status' }],
    ['patch', { path: 'pods default mine' }],
    ['create', { path: 'pods default -' }],
    ['get', { path: 'secrets default far-secret' }],
    ['list', { path: 'secrets default -' }],
    ['update', { path: 'secrets default my-secret' }],
    ['create', { path: 'serviceaccounts default sa-far token' }],
    ['create', { path: 'serviceaccounts default sa-mine token', object: { spec: {} } }],
    ['update', { path: 'leases kube-node-lease b-1' }],
    ['update', { path: 'leases kube-system gantry-host-two' }],
    ['update', { path: 'leases kube-system kube-scheduler' }],
    ['get', { path: 'deployments default web' }],
    ['update', { path: 'certificatesigningrequests - csr approval' }],
  ] satisfies [string, Case][])('may not %s %j', (verb, of) => {
    expect(allows(agent, verb, of)).toBe(false);
  });
});

describe('others', () => {
  it('allows everything to the administrator and nothing without credentials', () => {
    expect(allows(admin, 'deletecollection', { path: 'secrets default -' })).toBe(true);
    expect(allows(ANONYMOUS, 'list', { path: 'pods - -' })).toBe(false);
    expect(allows(ANONYMOUS, 'create', { path: 'selfsubjectreviews - -' })).toBe(false);
  });

  it('lets the scheduler bind and look, but not at secrets', () => {
    expect(allows(scheduler, 'create', { path: 'pods default mine binding' })).toBe(true);
    expect(allows(scheduler, 'watch', { path: 'nodes - -' })).toBe(true);
    expect(allows(scheduler, 'list', { path: 'secrets - -' })).toBe(false);
    expect(allows(scheduler, 'get', { path: 'pods default mine exec' })).toBe(false);
    expect(allows(scheduler, 'get', { path: 'nodes - a-1 proxy' })).toBe(false);
    expect(allows(scheduler, 'create', { path: 'pods default -' })).toBe(false);
  });

  it('lets holders of the bootstrap token ask for certificates and see their own requests only', () => {
    expect(allows(bootstrapper, 'create', { path: 'certificatesigningrequests - -' })).toBe(true);
    expect(allows(bootstrapper, 'get', { path: 'certificatesigningrequests - csr' })).toBe(false);
    expect(allows(bootstrapper, 'list', { path: 'certificatesigningrequests - -' })).toBe(false);
    expect(allows(bootstrapper, 'get', { path: 'nodes - a-1' })).toBe(false);
  });

  it('says who may not do what, in Kubernetes words', () => {
    expect(() => authorizer.authorize(asker(account), 'list', target('pods y'), undefined)).toThrow(
      'pods is forbidden: User "system:serviceaccount:default:default" cannot list resource "pods" in API group "" in the namespace "y"',
    );
    expect(() => authorizer.authorizePath(asker(ANONYMOUS), 'get', '/apis')).toThrow(
      'forbidden: User "system:anonymous" cannot get path "/apis"',
    );
    authorizer.authorizePath(asker(account), 'get', '/apis');
    authorizer.authorizePath(asker(ANONYMOUS), 'get', '/readyz');
  });
});
