import { readFileSync } from 'node:fs';
import type { CertificateSigningRequest, Node } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { planCertificateRequest, type RequestedCertificate, type SignerSettings } from './plan.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');
const SETTINGS: SignerSettings = {
  firstServiceAddress: '10.96.0.1',
  podCidr: '10.128.0.0/20',
  reservedNames: ['apiserver', 'load-balancer', 'etcd-0', 'kubernetes', 'kubernetes.default'],
  servingApproval: 'automatic',
  joining: 'refused',
};
const CLIENT = 'kubernetes.io/kube-apiserver-client-kubelet';
const OTHER_CLIENT = 'kubernetes.io/kube-apiserver-client';
const SERVING = 'kubernetes.io/kubelet-serving';
const SERVICE = 'gantry.dev/service';

/** The requesters, with the fields that requests of each kind have unless a case says otherwise. */
const ASKING = {
  bootstrap: {},
  self: { username: 'system:node:n1', groups: ['system:nodes'] },
  selfOnEngine: { username: 'system:node:n1', groups: ['system:nodes'], extra: { 'gantry.dev/engine': ['abcd'] } },
  serving: {
    signer: SERVING,
    username: 'system:node:n1',
    groups: ['system:nodes'],
    usages: ['digital signature', 'server auth'],
  },
  person: { signer: OTHER_CLIENT, username: 'jane', groups: ['system:authenticated'], usages: ['client auth'] },
  service: {
    signer: SERVICE,
    username: 'system:kube-scheduler',
    groups: ['gantry:services'],
    usages: ['digital signature', 'client auth', 'server auth'],
  },
} as const;

interface Asked {
  readonly by?: keyof typeof ASKING;
  readonly signer?: string;
  readonly username?: string;
  readonly groups?: readonly string[];
  readonly usages?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
  /** By default, a certificate of the node `n1`. */
  readonly requested?: Partial<RequestedCertificate>;
  /** Why the request cannot be read. */
  readonly unreadable?: string;
  readonly node?: keyof typeof NODES_NAMED;
  readonly labels?: Record<string, string>;
  readonly conditions?: NonNullable<CertificateSigningRequest['status']>['conditions'];
  readonly certificate?: string;
  readonly createdAt?: string;
  readonly expirationSeconds?: number;
  readonly settings?: Partial<SignerSettings>;
}

interface Case extends Asked {
  readonly name: string;
  readonly want: readonly string[];
}

const CASES = JSON.parse(readFileSync(new URL('cases.json', import.meta.url), 'utf8')) as readonly Case[];
const node = (labels: Record<string, string>, conditions: NonNullable<Node['status']>['conditions']): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'n1', labels },
  status: { conditions: conditions ?? [] },
});
const READY = [{ type: 'Ready', status: 'True' }];
const NODES_NAMED = {
  silent: node({}, []),
  living: node({}, READY),
  'on an engine': node({ 'gantry.dev/engine': 'abcd' }, READY),
};

function plan({ by = 'bootstrap', settings, ...given }: Asked) {
  const of: Asked = { ...ASKING[by], ...given };
  const { signer = CLIENT, username = 'system:bootstrap:abcdef', groups = ['system:bootstrappers'] } = of;
  const requested: RequestedCertificate | string = of.unreadable ?? {
    commonName: 'system:node:n1',
    organizations: ['system:nodes'],
    organizationalUnits: [],
    dnsNames: [],
    ipAddresses: [],
    otherNames: 0,
    ...of.requested,
  };
  const { labels, extra, conditions, certificate, expirationSeconds } = of;
  const request: CertificateSigningRequest = {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: {
      name: 'r',
      creationTimestamp: of.createdAt ?? '2026-01-01T12:00:00Z',
      ...(labels === undefined ? {} : { labels }),
    },
    spec: {
      signerName: signer,
      request: '',
      username,
      groups: [...groups],
      usages: [...(of.usages ?? ['digital signature', 'client auth'])],
      ...(extra === undefined
        ? {}
        : { extra: Object.fromEntries(Object.entries(extra).map(([key, values]) => [key, [...values]])) }),
      ...(expirationSeconds === undefined ? {} : { expirationSeconds }),
    },
    status: {
      ...(conditions === undefined ? {} : { conditions }),
      ...(certificate === undefined ? {} : { certificate }),
    },
  };
  const known = of.node === undefined ? undefined : NODES_NAMED[of.node];
  return planCertificateRequest({ request, requested, node: known }, { ...SETTINGS, ...settings }, NOW);
}

const APPROVED = { conditions: [{ type: 'Approved', status: 'True' }] };
const PERSON = { by: 'person', requested: { commonName: 'jane', organizations: ['developers'] } } as const;

describe('planning certificate requests', () => {
  it.each(CASES)('$want: $name', ({ name: _, want, ...asked }) => {
    const { actions } = plan(asked);
    expect(actions.map(({ kind }) => kind)).toEqual(want);
    for (const action of actions) {
      if (action.kind !== 'deny') continue;
      expect(action.condition).toMatchObject({ type: 'Denied', reason: 'SignerValidationFailure' });
    }
  });

  it('signs other clients’ requests for a year at most', () => {
    expect(plan({ ...PERSON, ...APPROVED }).actions).toEqual([
      { kind: 'sign', by: 'cluster', seconds: 365 * 86_400, usages: ['client auth'] },
    ]);
  });

  it.each<readonly [string[], string]>([
    [['client auth', 'server auth'], 'invalid usage for client certificate: server auth'],
    [['digital signature'], 'missing required usage for client certificate: client auth'],
  ])('says what is wrong with the usages %j of a client, as Kubernetes does', (usages, message) => {
    const [action] = plan({ ...PERSON, ...APPROVED, usages }).actions;
    expect(action).toMatchObject({ kind: 'fail', condition: { type: 'Failed', message } });
  });

  it('certifies servers of nodes by an authority of their own', () => {
    const server = { by: 'serving', requested: { dnsNames: ['n1'] } } as const;
    expect(plan(server).actions.at(-1)).toMatchObject({ kind: 'sign', by: 'node-serving' });
    expect(plan({}).actions.at(-1)).toMatchObject({ kind: 'sign', by: 'cluster' });
  });

  it('keeps to the asked lifetime within its bounds', () => {
    const seconds = (expirationSeconds?: number) =>
      plan(expirationSeconds === undefined ? {} : { expirationSeconds }).actions.at(-1);
    expect(seconds()).toMatchObject({ seconds: 30 * 86_400 });
    expect(seconds(3600)).toMatchObject({ seconds: 3600 });
    expect(seconds(1)).toMatchObject({ seconds: 600 });
    expect(seconds(1e9)).toMatchObject({ seconds: 30 * 86_400 });
  });
});
