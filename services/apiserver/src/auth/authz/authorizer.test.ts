import { findResource } from '@gantry/kinds';
import type { JsonObject, KubeObject, Lease, PersistentVolume } from '@gantry/objects';
import { must } from '@gantry/base';
import { describe, expect, it } from 'vitest';
import type { AccessTarget } from './request.ts';
import type { User } from '../user.ts';
import { NOT_AUDITED } from '../../audit/index.ts';
import { type Asker, createAuthorizer } from './authorizer.ts';
import { ANONYMOUS, authenticated, userOfIdentity } from '../authn/identity.ts';
import type { LookupResource, ObjectLookup } from './object-lookup.ts';
import { bootstrapPolicy } from '../rbac/testing.ts';

const asker = (user: User): Asker => ({ user, audit: NOT_AUDITED });

const node = (name: string, engine: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels: { 'gantry.dev/engine': engine } },
});

const registered = (name: string, creationTimestamp: string): KubeObject => {
  const { metadata, ...rest } = node(name, 'one');
  return { ...rest, metadata: { ...metadata, creationTimestamp } };
};

const pod = (name: string, nodeName: string, secret: string): KubeObject =>
  ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', uid: `uid-${name}` },
    spec: {
      nodeName,
      serviceAccountName: `sa-${name}`,
      containers: [{ name: 'c', env: [{ name: 'X', valueFrom: { secretKeyRef: { name: secret, key: 'k' } } }] }],
      volumes: [
        { name: 'v', projected: { sources: [{ configMap: { name: 'kube-root-ca.crt' } }] } },
        { name: 'c', persistentVolumeClaim: { claimName: `claim-${name}` } },
      ],
    },
  }) as KubeObject;

const NOW = '2026-01-01T00:10:00Z';
/** Nodes without a Lease: the Lease of one was removed long ago, the other was registered again just now. */
const withoutLease = [registered('a-4', '2026-01-01T00:09:50Z'), registered('a-5', '2026-01-01T00:09:51Z')];
const nodes = [
  ...withoutLease,
  node('a-1', 'one'),
  node('a-2', 'one'),
  node('a-3', 'one'),
  node('b-1', 'two'),
  node('b-2', 'two'),
];
const pods = [
  pod('mine', 'a-1', 'my-secret'),
  pod('neighbour', 'a-2', 'their-secret'),
  pod('living', 'a-3', 'their-secret'),
  pod('far', 'b-1', 'far-secret'),
];
const request: KubeObject = {
  apiVersion: 'certificates.k8s.io/v1',
  kind: 'CertificateSigningRequest',
  metadata: { name: 'csr' },
  spec: { username: 'system:node:a-1' },
} as KubeObject;

const lease = (name: string, holderIdentity: string): Lease & KubeObject => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name },
  spec: { holderIdentity },
});
const leases = [
  lease('gantry-host-one', 'a-1'),
  lease('gantry-host-two', 'b-1'),
  ...['a-1', 'a-2', 'a-3', 'b-1', 'b-2'].map((name) => lease(name, name)),
];
const expired = ['a-2', 'b-2'];

const volume = (
  name: string,
  node: string,
  phase: string,
  provisioner = 'rancher.io/local-path',
): PersistentVolume => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: {
    name,
    labels: { 'kubernetes.io/hostname': node },
    annotations: { 'pv.kubernetes.io/provisioned-by': provisioner },
  },
  spec: { persistentVolumeReclaimPolicy: 'Delete' },
  status: { phase },
});
const volumes = [
  volume('released', 'a-1', 'Released'),
  volume('bound', 'a-1', 'Bound'),
  volume('elsewhere', 'a-2', 'Released'),
  volume('by-others', 'a-1', 'Released', 'example.org/p'),
];

const lookup: ObjectLookup = {
  get: (resource, _namespace, name) => {
    const from: Record<LookupResource, readonly KubeObject[]> = {
      nodes,
      pods,
      leases,
      persistentvolumes: volumes,
      certificatesigningrequests: [request],
      secrets: [],
      serviceaccounts: [],
    };
    return from[resource].find((object) => object.metadata.name === name);
  },
  hasExpired: (of) => {
    const { renewTime, leaseDurationSeconds = 0 } = of?.spec ?? {};
    if (renewTime !== undefined) return Date.parse(renewTime) + leaseDurationSeconds * 1000 <= Date.parse(NOW);
    return of === undefined || expired.includes(of.metadata.name ?? '');
  },
  ingressesIn: () => [],
  podsOnNode: (name) => pods.filter((p) => (p as { spec?: { nodeName?: string } }).spec?.nodeName === name),
};
const authorizer = createAuthorizer(lookup, bootstrapPolicy());

const admin = userOfIdentity('kubernetes-admin', ['system:masters']);
const agent = userOfIdentity('system:node:a-1', ['system:nodes'], ['gantry:engine:one']);
/** An agent of the same engine that does not hold the custodian Lease. */
const neighbour = userOfIdentity('system:node:a-3', ['system:nodes'], ['gantry:engine:one']);
/** An agent whose Node has the label of engine `two`, but whose certificate names no engine. */
const withoutEngine = userOfIdentity('system:node:b-1', ['system:nodes']);
const scheduler = userOfIdentity('system:kube-scheduler', ['gantry:services']);
const proxy = userOfIdentity('system:kube-proxy', ['gantry:services']);
const dns = userOfIdentity('system:kube-dns', ['gantry:services']);
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
    tokenreviews: 'authentication.k8s.io',
    subjectaccessreviews: 'authorization.k8s.io',
    localsubjectaccessreviews: 'authorization.k8s.io',
    certificatesigningrequests: 'certificates.k8s.io',
    csinodes: 'storage.k8s.io',
    endpointslices: 'discovery.k8s.io',
    networkpolicies: 'networking.k8s.io',
    resourceslices: 'resource.k8s.io',
    runtimeclasses: 'node.k8s.io',
    poddisruptionbudgets: 'policy',
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
    ['create', { path: 'nodes - -' }],
    ['patch', { path: 'nodes - a-1 status' }],
    ['delete', { path: 'nodes - a-2' }],
    ['list', { path: 'pods - -', fieldSelector: 'spec.nodeName=a-1' }],
    ['watch', { path: 'pods - -', fieldSelector: 'spec.nodeName=a-2' }],
    ['patch', { path: 'pods default mine status' }],
    ['delete', { path: 'pods default neighbour' }],
    ['get', { path: 'secrets default my-secret' }],
    ['watch', { path: 'configmaps default -', fieldSelector: 'metadata.name=kube-root-ca.crt' }],
    ['create', { path: 'serviceaccounts default sa-mine token' }],
    ['create', { path: 'pods default -' }],
    ['create', { path: 'pods default mine eviction' }],
    ['patch', { path: 'persistentvolumeclaims default claim-mine status' }],
    ['watch', { path: 'persistentvolumes - -' }],
    ['delete', { path: 'persistentvolumes - released' }],
    ['update', { path: 'csinodes - a-1' }],
    ['deletecollection', { path: 'resourceslices - -', fieldSelector: 'spec.nodeName=a-1' }],
    ['get', { path: 'runtimeclasses - runc' }],
    ['update', { path: 'leases kube-node-lease a-1' }],
    ['delete', { path: 'leases kube-node-lease a-2' }],
    ['update', { path: 'leases kube-system gantry-host-one' }],
    ['create', { path: 'events default -' }],
    ['watch', { path: 'services - -' }],
    ['get', { path: 'certificatesigningrequests - csr' }],
    ['create', { path: 'selfsubjectreviews - -' }],
    ['create', { path: 'tokenreviews - -' }],
    ['create', { path: 'subjectaccessreviews - -' }],
    ['create', { path: 'localsubjectaccessreviews default -' }],
  ] satisfies [string, Case][])('may %s %j', (verb, of) => {
    expect(allows(agent, verb, of)).toBe(true);
  });

  it.each([
    ['patch', { path: 'nodes - b-1 status' }],
    ['get', { path: 'nodes - b-1 proxy' }],
    ['create', { path: 'nodes - a-1 proxy' }],
    ['create', { path: 'nodes - b-9' }],
    ['delete', { path: 'nodes - a-1' }],
    ['delete', { path: 'nodes - a-3' }],
    ['delete', { path: 'nodes - b-2' }],
    ['patch', { path: 'nodes - a-3' }],
    ['list', { path: 'pods - -', fieldSelector: 'spec.nodeName=a-3' }],
    ['delete', { path: 'pods default living' }],
    ['get', { path: 'secrets default their-secret' }],
    ['delete', { path: 'leases kube-node-lease a-3' }],
    ['delete', { path: 'leases kube-system gantry-host-one' }],
    ['create', { path: 'pods default far eviction' }],
    ['patch', { path: 'persistentvolumeclaims default claim-far status' }],
    ['patch', { path: 'persistentvolumeclaims default claim-mine' }],
    ['delete', { path: 'persistentvolumes - bound' }],
    ['delete', { path: 'persistentvolumes - elsewhere' }],
    ['delete', { path: 'persistentvolumes - by-others' }],
    ['delete', { path: 'persistentvolumes - absent' }],
    ['deletecollection', { path: 'persistentvolumes - -' }],
    ['patch', { path: 'persistentvolumes - released' }],
    ['create', { path: 'persistentvolumes - -' }],
    ['patch', { path: 'persistentvolumes - released status' }],
    ['update', { path: 'csinodes - b-1' }],
    ['deletecollection', { path: 'resourceslices - -' }],
    ['delete', { path: 'resourceslices - s', object: { spec: { nodeName: 'b-1' } } }],
    ['update', { path: 'runtimeclasses - runc' }],
    ['list', { path: 'pods - -' }],
    ['list', { path: 'pods - -', fieldSelector: 'spec.nodeName=b-1' }],
    ['list', { path: 'pods - -', fieldSelector: 'spec.nodeName!=a-1' }],
    ['patch', { path: 'pods default far status' }],
    ['patch', { path: 'pods default mine' }],
    ['get', { path: 'secrets default far-secret' }],
    ['list', { path: 'secrets default -' }],
    ['update', { path: 'secrets default my-secret' }],
    ['create', { path: 'serviceaccounts default sa-far token' }],
    ['update', { path: 'leases kube-node-lease b-1' }],
    ['update', { path: 'leases kube-system gantry-host-two' }],
    ['update', { path: 'leases kube-system kube-scheduler' }],
    ['get', { path: 'deployments default web' }],
    ['update', { path: 'certificatesigningrequests - csr approval' }],
  ] satisfies [string, Case][])('may not %s %j', (verb, of) => {
    expect(allows(agent, verb, of)).toBe(false);
  });
});

describe('a custodian', () => {
  const acts: [string, Case][] = [
    ['delete', { path: 'nodes - a-2' }],
    ['patch', { path: 'nodes - a-2' }],
    ['delete', { path: 'pods default neighbour' }],
    ['patch', { path: 'pods default neighbour status' }],
    ['watch', { path: 'pods - -', fieldSelector: 'spec.nodeName=a-2' }],
    ['delete', { path: 'leases kube-node-lease a-2' }],
  ];

  it.each(acts)('may %s %j of a dead agent, holding its engine’s Lease', (verb, of) => {
    expect(allows(agent, verb, of)).toBe(true);
  });

  it.each(acts)('is no agent that does not hold the Lease: %s %j', (verb, of) => {
    expect(allows(neighbour, verb, of)).toBe(false);
  });

  it('acts for no agent that has registered its Node and has no Lease yet', () => {
    expect(allows(agent, 'delete', { path: 'nodes - a-4' })).toBe(true);
    expect(allows(agent, 'delete', { path: 'nodes - a-5' })).toBe(false);
  });

  it('has the engine of its certificate, whatever the label of its Node says', () => {
    expect(allows(withoutEngine, 'delete', { path: 'nodes - b-2' })).toBe(false);
    expect(allows(withoutEngine, 'update', { path: 'leases kube-system gantry-host-two' })).toBe(false);
    const of = (...units: string[]) => userOfIdentity('system:node:b-1', ['system:nodes'], units);
    expect(allows(of('gantry:engine:two'), 'delete', { path: 'nodes - b-2' })).toBe(true);
    expect(allows(of('gantry:engine:one'), 'delete', { path: 'nodes - b-2' })).toBe(false);
    expect(allows(of('gantry:engine:two', 'gantry:engine:one'), 'delete', { path: 'nodes - b-2' })).toBe(false);
  });
});

describe('the DNS', () => {
  it.each([
    ['watch', { path: 'services - -' }],
    ['list', { path: 'pods - -' }],
    ['list', { path: 'namespaces - -' }],
    ['watch', { path: 'endpointslices - -' }],
    ['create', { path: 'endpointslices kube-system kube-dns' }],
    ['update', { path: 'endpointslices kube-system kube-dns' }],
    ['list', { path: 'endpoints kube-system -', fieldSelector: 'metadata.name=kube-dns' }],
    ['create', { path: 'endpoints kube-system -' }],
    ['update', { path: 'endpoints kube-system kube-dns' }],
    ['create', { path: 'certificatesigningrequests - -' }],
  ] satisfies [string, Case][])('may %s %j', (verb, of) => {
    expect(allows(dns, verb, of)).toBe(true);
  });

  it.each([
    ['get', { path: 'secrets default my-secret' }],
    ['list', { path: 'nodes - -' }],
    ['get', { path: 'pods default mine log' }],
    ['create', { path: 'pods default mine exec' }],
    ['update', { path: 'services kube-system kube-dns' }],
    ['update', { path: 'endpointslices kube-system other' }],
    ['create', { path: 'endpointslices default kube-dns' }],
    ['delete', { path: 'endpointslices kube-system kube-dns' }],
    ['list', { path: 'endpoints kube-system -' }],
    ['list', { path: 'endpoints - -', fieldSelector: 'metadata.name=kube-dns' }],
    ['update', { path: 'endpoints kube-system other' }],
    ['create', { path: 'endpoints default kube-dns' }],
    ['update', { path: 'leases kube-system kube-dns' }],
  ] satisfies [string, Case][])('may not %s %j', (verb, of) => {
    expect(allows(dns, verb, of)).toBe(false);
  });
});

describe('a fixed right', () => {
  it('belongs to a name within its group', () => {
    for (const group of ['system:nodes', 'system:bootstrappers', 'gantry:apiservers']) {
      const impostor = userOfIdentity('system:kube-controller-manager', [group]);
      expect(allows(impostor, 'get', { path: 'secrets default my-secret' })).toBe(false);
    }
    const real = userOfIdentity('system:kube-controller-manager', ['gantry:services']);
    expect(allows(real, 'get', { path: 'secrets default my-secret' })).toBe(true);
    expect(allows(userOfIdentity('system:kube-scheduler', ['system:nodes']), 'watch', { path: 'nodes - -' })).toBe(
      false,
    );
  });
});

describe('others', () => {
  it('allows everything to the administrator and nothing without credentials', () => {
    expect(allows(admin, 'deletecollection', { path: 'secrets default -' })).toBe(true);
    expect(allows(ANONYMOUS, 'list', { path: 'pods - -' })).toBe(false);
    expect(allows(ANONYMOUS, 'create', { path: 'selfsubjectreviews - -' })).toBe(false);
  });

  it('lets the proxy look at what its rules need, and write nothing', () => {
    for (const resource of ['services', 'endpointslices', 'nodes', 'pods', 'namespaces', 'networkpolicies']) {
      expect(allows(proxy, 'list', { path: `${resource} - -` }), resource).toBe(true);
      expect(allows(proxy, 'watch', { path: `${resource} - -` }), resource).toBe(true);
      expect(allows(proxy, 'create', { path: `${resource} default -` }), resource).toBe(false);
    }
    expect(allows(proxy, 'list', { path: 'secrets - -' })).toBe(false);
    expect(allows(proxy, 'get', { path: 'pods default mine log' })).toBe(false);
    expect(allows(proxy, 'update', { path: 'services default web status' })).toBe(false);
    expect(allows(userOfIdentity('system:kube-proxy', ['system:nodes']), 'list', { path: 'services - -' })).toBe(false);
    expect(allows(proxy, 'create', { path: 'certificatesigningrequests - -' })).toBe(true);
  });

  it('lets the scheduler bind and look, but not at secrets', () => {
    expect(allows(scheduler, 'create', { path: 'pods default mine binding' })).toBe(true);
    expect(allows(scheduler, 'watch', { path: 'nodes - -' })).toBe(true);
    expect(allows(scheduler, 'list', { path: 'secrets - -' })).toBe(false);
    expect(allows(scheduler, 'get', { path: 'pods default mine exec' })).toBe(false);
    expect(allows(scheduler, 'get', { path: 'nodes - a-1 proxy' })).toBe(false);
    expect(allows(scheduler, 'create', { path: 'pods default -' })).toBe(false);
    // For preemption, the scheduler nominates, marks and deletes pods, and reads their budgets.
    expect(allows(scheduler, 'patch', { path: 'pods default mine status' })).toBe(true);
    expect(allows(scheduler, 'delete', { path: 'pods default mine' })).toBe(true);
    expect(allows(scheduler, 'deletecollection', { path: 'pods default -' })).toBe(false);
    expect(allows(scheduler, 'patch', { path: 'pods default mine' })).toBe(false);
    expect(allows(scheduler, 'watch', { path: 'poddisruptionbudgets - -' })).toBe(true);
    expect(allows(scheduler, 'update', { path: 'poddisruptionbudgets default b status' })).toBe(false);
    expect(allows(scheduler, 'patch', { path: 'persistentvolumes - v' })).toBe(true);
    expect(allows(scheduler, 'patch', { path: 'persistentvolumeclaims default c' })).toBe(true);
    expect(allows(scheduler, 'patch', { path: 'persistentvolumeclaims default c status' })).toBe(false);
    expect(allows(scheduler, 'delete', { path: 'persistentvolumes - v' })).toBe(false);
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
