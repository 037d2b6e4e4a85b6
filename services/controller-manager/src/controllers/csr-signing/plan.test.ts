import type { CertificateSigningRequest, Node } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { planCertificateRequest, type RequestedCertificate, type SignerSettings } from './plan.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');
const SETTINGS: SignerSettings = {
  firstServiceAddress: '10.96.0.1',
  reservedNames: ['apiserver', 'load-balancer', 'etcd-0', 'kubernetes', 'kubernetes.default'],
  servingApproval: 'automatic',
  joining: 'refused',
};
const CLIENT = 'kubernetes.io/kube-apiserver-client-kubelet';
const OTHER_CLIENT = 'kubernetes.io/kube-apiserver-client';
const SERVING = 'kubernetes.io/kubelet-serving';
const SERVICE = 'gantry.dev/service';

interface Case {
  readonly signer?: string;
  readonly username?: string;
  readonly groups?: string[];
  readonly usages?: string[];
  readonly requested?: Partial<RequestedCertificate> | string;
  readonly node?: Node;
  readonly labels?: Record<string, string>;
  readonly status?: CertificateSigningRequest['status'];
  readonly createdAt?: string;
  readonly expirationSeconds?: number;
  readonly extra?: Record<string, string[]>;
  readonly settings?: Partial<SignerSettings>;
}

function plan(of: Case) {
  const { signer = CLIENT, username = 'system:bootstrap:abcdef', groups = ['system:bootstrappers'] } = of;
  const requested: RequestedCertificate | string =
    typeof of.requested === 'string'
      ? of.requested
      : {
          commonName: 'system:node:n1',
          organizations: ['system:nodes'],
          organizationalUnits: [],
          dnsNames: [],
          ipAddresses: [],
          otherNames: 0,
          ...of.requested,
        };
  const request: CertificateSigningRequest = {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: {
      name: 'r',
      creationTimestamp: of.createdAt ?? '2026-01-01T12:00:00Z',
      ...(of.labels === undefined ? {} : { labels: of.labels }),
    },
    spec: {
      signerName: signer,
      request: '',
      username,
      groups,
      usages: of.usages ?? ['digital signature', 'client auth'],
      ...(of.extra === undefined ? {} : { extra: of.extra }),
      ...(of.expirationSeconds === undefined ? {} : { expirationSeconds: of.expirationSeconds }),
    },
    ...(of.status === undefined ? {} : { status: of.status }),
  };
  return planCertificateRequest({ request, requested, node: of.node }, { ...SETTINGS, ...of.settings }, NOW);
}

const kinds = (of: Case) => plan(of).actions.map(({ kind }) => kind);
const readyNode: Node = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'n1' },
  status: { conditions: [{ type: 'Ready', status: 'True' }] },
};
const ENGINE = { 'gantry.dev/engine': 'abcd' };
const onEngine: Node = { ...readyNode, metadata: { name: 'n1', labels: ENGINE } };
const self = { username: 'system:node:n1', groups: ['system:nodes'] };
const ofEngine = { ...self, extra: { 'gantry.dev/engine': ['abcd'] } };
const unit = (engine: string) => ({ organizationalUnits: [`gantry:engine:${engine}`] });
const approved = { conditions: [{ type: 'Approved', status: 'True' }] };
const named = (name: string) => ({ commonName: `system:node:${name}` });
const person = {
  signer: OTHER_CLIENT,
  username: 'jane',
  groups: ['system:authenticated'],
  usages: ['client auth'],
  requested: { commonName: 'jane', organizations: ['developers'] },
};
const serving = { ...self, signer: SERVING, usages: ['digital signature', 'server auth'] };
const service = {
  signer: SERVICE,
  username: 'system:kube-scheduler',
  groups: ['gantry:services'],
  usages: ['digital signature', 'client auth', 'server auth'],
};
const scheduler = { commonName: 'system:kube-scheduler', organizations: ['gantry:services'] };

describe('planning certificate requests', () => {
  it.each<[string, Case]>([
    ['a new agent with the bootstrap token', {}],
    ['an agent that renews its own', self],
    ['a new agent that names its engine', { requested: unit('abcd') }],
    ['an agent that renews its own, of its engine', { ...ofEngine, requested: unit('abcd') }],
    ['an agent that returns under the name of a node without heartbeats', { node: { ...readyNode, status: {} } }],
    ['a serving certificate of the node itself', { ...serving, requested: { dnsNames: ['n1'] } }],
    [
      'a service that renews its own',
      { ...service, requested: { ...scheduler, dnsNames: ['scheduler', 'localhost'] } },
    ],
  ])('approves and signs %s', (_, of) => {
    expect(kinds(of)).toEqual(['approve', 'sign']);
  });

  it.each<[string, Case]>([
    ['what cannot be read', { requested: 'garbage' }],
    ['names in a client certificate', { requested: { dnsNames: ['n1'] } }],
    ['an organization beside nodes', { requested: { organizations: ['system:nodes', 'system:masters'] } }],
    ['a subject that is no node', { requested: { commonName: 'kubernetes-admin' } }],
    ['the name of the control plane', { requested: named('apiserver') }],
    ['the name of a member of etcd', { requested: named('etcd-0') }],
    ['the name of a Service', { requested: named('kubernetes.default.svc') }],
    ['a name in the domain of the cluster', { requested: named('x.y.svc.cluster.local') }],
    ['this machine’s own name', { requested: named('localhost') }],
    [
      'a server’s certificate in the name of the control plane',
      {
        ...serving,
        username: 'system:node:apiserver',
        requested: { ...named('apiserver'), dnsNames: ['apiserver'] },
      },
    ],
    ['a change of the engine', { ...ofEngine, requested: unit('other') }],
    ['a loss of the engine', { ...ofEngine, requested: {} }],
    ['an engine for an agent that has none', { ...self, requested: unit('abcd') }],
    ['two engines', { requested: { organizationalUnits: ['gantry:engine:a', 'gantry:engine:b'] } }],
    ['another unit', { requested: { organizationalUnits: ['x'] } }],
    ['an engine’s name that no label can hold', { requested: unit('A_B') }],
    ['an engine in a serving certificate', { ...serving, requested: { dnsNames: ['n1'], ...unit('abcd') } }],
    ['an engine in another client’s certificate', { ...person, requested: { ...person.requested, ...unit('abcd') } }],
    ['administrators', { ...person, requested: { commonName: 'jane', organizations: ['system:masters'] } }],
    ['services', { ...person, requested: { commonName: 'jane', organizations: ['gantry:services'] } }],
    ['a server’s usage for a client', { ...person, usages: ['client auth', 'server auth'] }],
    ['another node’s certificate', { ...self, requested: { commonName: 'system:node:n2' } }],
    ['the name of a living node', { node: readyNode }],
    ['the name of a living node to who knows its engine', { node: onEngine, labels: ENGINE }],
    ['usages that are never allowed', { usages: ['digital signature', 'client auth', 'cert sign'] }],
    ['missing usages', { usages: ['client auth'] }],
    ['a token that is no bootstrap token', { username: 'system:serviceaccount:a:b', groups: [] }],
    [
      'a serving certificate by the bootstrap token',
      { ...serving, username: 'system:bootstrap:x', requested: { dnsNames: ['n1'] } },
    ],
    [
      'a serving certificate with an address',
      { ...serving, requested: { dnsNames: ['n1'], ipAddresses: ['10.0.0.1'] } },
    ],
    ['a serving certificate with another name', { ...serving, requested: { dnsNames: ['apiserver'] } }],
    ['mail addresses and URIs', { requested: { otherNames: 1 } }],
    ['a service that asks for another’s', { ...service, requested: { ...scheduler, commonName: 'system:apiserver' } }],
    [
      'a service that asks for more groups',
      { ...service, requested: { ...scheduler, organizations: ['system:masters'] } },
    ],
    ['a service that asks for a strange name', { ...service, requested: { ...scheduler, dnsNames: ['apiserver'] } }],
    ['an unknown service', { ...service, username: 'x', requested: { ...scheduler, commonName: 'x' } }],
  ])('denies %s', (_, of) => {
    expect(plan(of).actions).toEqual([
      { kind: 'deny', condition: expect.objectContaining({ type: 'Denied', reason: 'SignerValidationFailure' }) },
    ]);
  });

  it('signs other clients’ requests once they are approved, for a year at most', () => {
    expect(kinds(person)).toEqual([]);
    expect(plan({ ...person, status: approved }).actions).toEqual([
      { kind: 'sign', by: 'cluster', seconds: 365 * 86_400, usages: ['client auth'] },
    ]);
    const ofUnit = { ...person.requested, organizationalUnits: ['Platform', 'Berlin'] };
    expect(kinds({ ...person, status: approved, requested: ofUnit })).toEqual(['sign']);
    const masters = { ...person.requested, organizations: ['system:masters'] };
    expect(kinds({ ...person, status: approved, requested: masters })).toEqual(['fail']);
  });

  it.each<readonly [string[], string]>([
    [['client auth', 'server auth'], 'invalid usage for client certificate: server auth'],
    [['digital signature'], 'missing required usage for client certificate: client auth'],
  ])('says what is wrong with the usages %j of a client, as Kubernetes does', (usages, message) => {
    const [action] = plan({ ...person, usages, status: approved }).actions;
    expect(action).toMatchObject({ kind: 'fail', condition: { type: 'Failed', message } });
  });

  it('certifies servers of nodes by an authority of their own, after an approval where the settings demand it', () => {
    const server = { ...serving, requested: { dnsNames: ['n1'] } };
    expect(plan(server).actions.at(-1)).toMatchObject({ kind: 'sign', by: 'node-serving' });
    expect(plan({}).actions.at(-1)).toMatchObject({ kind: 'sign', by: 'cluster' });
    const settings = { servingApproval: 'manual' } as const;
    expect(kinds({ ...server, settings })).toEqual([]);
    expect(kinds({ ...server, settings, status: approved })).toEqual(['sign']);
    expect(kinds({ ...server, settings, requested: { dnsNames: ['n2'] } })).toEqual(['deny']);
    expect(kinds({ settings })).toEqual(['approve', 'sign']);
  });

  it('keeps to the asked lifetime within its bounds', () => {
    const seconds = (expirationSeconds?: number) =>
      plan(expirationSeconds === undefined ? {} : { expirationSeconds }).actions.at(-1);
    expect(seconds()).toMatchObject({ seconds: 30 * 86_400 });
    expect(seconds(3600)).toMatchObject({ seconds: 3600 });
    expect(seconds(1)).toMatchObject({ seconds: 600 });
    expect(seconds(1e9)).toMatchObject({ seconds: 30 * 86_400 });
  });

  it('signs what an administrator approved, but not against the rules', () => {
    const status = { conditions: [{ type: 'Approved', status: 'True' }] };
    expect(kinds({ status })).toEqual(['sign']);
    expect(kinds({ status, requested: { commonName: 'kubernetes-admin' } })).toEqual(['fail']);
  });

  it('leaves other signers’ requests and answered ones alone, until they are old', () => {
    expect(kinds({ signer: 'example.org/x' })).toEqual([]);
    expect(kinds({ status: { certificate: 'x' } })).toEqual([]);
    expect(kinds({ status: { conditions: [{ type: 'Denied', status: 'True' }] } })).toEqual([]);
    expect(kinds({ signer: 'example.org/x', createdAt: '2026-01-01T10:59:59Z' })).toEqual([]);
    expect(kinds({ signer: 'example.org/x', createdAt: '2025-12-31T12:00:00Z' })).toEqual(['delete']);
  });

  it('removes what was answered an hour ago, however old the request is', () => {
    const answered = (type: string, lastUpdateTime: string, certificate?: string) =>
      kinds({
        signer: 'example.org/x',
        createdAt: '2025-12-31T00:00:00Z',
        status: { conditions: [{ type, status: 'True', lastUpdateTime }], ...(certificate ? { certificate } : {}) },
      });
    expect(answered('Approved', '2026-01-01T11:00:01Z', 'x')).toEqual([]);
    expect(answered('Approved', '2026-01-01T11:00:00Z', 'x')).toEqual(['delete']);
    expect(answered('Approved', '2025-12-31T12:00:01Z')).toEqual([]);
    expect(answered('Approved', '2025-12-31T12:00:00Z')).toEqual(['delete']);
    for (const type of ['Denied', 'Failed']) {
      expect(answered(type, '2026-01-01T11:00:01Z')).toEqual([]);
      expect(answered(type, '2026-01-01T11:00:00Z')).toEqual(['delete']);
    }
    for (const type of ['Other', 'toString']) expect(answered(type, '2025-12-31T00:00:00Z')).toEqual([]);
  });
});
