import { findResource, optionalResources } from '@gantry/kinds';
import { must } from '@gantry/base';
import type { KubeObject, PolicyRule } from '@gantry/objects';
import { beforeEach, describe, expect, it } from 'vitest';
import { authenticated } from '../authn/identity.ts';
import type { RoleIndex } from '../rbac/role-index.ts';
import type { AccessDecider } from './authorizer.ts';
import { createEscalationCheck } from './escalation-check.ts';

const RBAC = 'rbac.authorization.k8s.io';
const bob = authenticated('bob', ['devs']);
const PODS: PolicyRule = { verbs: ['get'], apiGroups: [''], resources: ['pods'] };
const SECRETS: PolicyRule = { verbs: ['get'], apiGroups: [''], resources: ['secrets'] };

const CLIENT = 'kubernetes.io/kube-apiserver-client';

describe('the escalation check', () => {
  /** Rights of bob beyond his rules, as `verb resource name`. */
  let allowed: Set<string>;
  let held: PolicyRule[];
  beforeEach(() => {
    allowed = new Set();
    held = [PODS];
  });

  const access: AccessDecider = {
    decide: (_user, { verb, target }) => ({
      allowed: allowed.has(`${verb} ${target.definition.resource} ${target.name}`),
      reason: '',
    }),
    decidePath: () => ({ allowed: false, reason: '' }),
    rulesFor: () => ({ rules: held, problem: '' }),
  } as Partial<AccessDecider> as AccessDecider;
  const roles = {
    rulesOf: ({ name }: { name: string }) => ({ reader: [PODS], keeper: [SECRETS] })[name],
  } as unknown as RoleIndex;

  const check = (
    group: string,
    resource: string,
    object: object,
    change: { old?: object; subresource?: string } = {},
  ) => {
    const optional = optionalResources.find((one) => one.group === group && one.resource === resource);
    const definition = must(optional ?? findResource({ group, version: 'v1', resource }), resource);
    const named = (one: object) => ({ metadata: { name: 'x' }, ...one }) as KubeObject;
    createEscalationCheck(access, roles).check({
      user: bob,
      definition,
      namespace: definition.namespaced ? 'n' : '',
      subresource: change.subresource ?? '',
      object: named(object),
      old: change.old === undefined ? undefined : named(change.old),
    });
  };
  const role =
    (rules: PolicyRule[], more: object = {}) =>
    () =>
      check(RBAC, 'clusterroles', { rules, ...more });
  const binding = (name: string) => () =>
    check(RBAC, 'rolebindings', { roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name } });

  it('lets roles and bindings give what their writer has, and nothing more', () => {
    expect(role([PODS])).not.toThrow();
    expect(role([PODS, SECRETS])).toThrow('attempting to grant RBAC permissions not currently held');
    expect(binding('reader')).not.toThrow();
    expect(binding('keeper')).toThrow('attempting to grant RBAC permissions not currently held');
    expect(binding('missing')).toThrow('clusterroles.rbac.authorization.k8s.io "missing" not found');
  });

  it('lets those give more who may escalate or bind', () => {
    allowed = new Set(['escalate clusterroles ', 'bind clusterroles keeper']);
    expect(role([SECRETS])).not.toThrow();
    expect(binding('keeper')).not.toThrow();
  });

  it('holds for roles of a namespace, and for bindings to them', () => {
    const own = (rules: PolicyRule[]) => () => check(RBAC, 'roles', { rules });
    expect(own([PODS])).not.toThrow();
    expect(own([SECRETS])).toThrow('attempting to grant RBAC permissions not currently held');
    const bound = () => check(RBAC, 'rolebindings', { roleRef: { apiGroup: RBAC, kind: 'Role', name: 'keeper' } });
    expect(bound).toThrow('attempting to grant RBAC permissions not currently held');
    allowed = new Set(['bind roles keeper']);
    expect(bound).not.toThrow();
  });

  it('lets who may escalate one role change that one, and create none of its name', () => {
    allowed = new Set(['escalate clusterroles x']);
    expect(() => check(RBAC, 'clusterroles', { rules: [SECRETS] }, { old: { rules: [] } })).not.toThrow();
    expect(role([SECRETS])).toThrow('attempting to grant RBAC permissions not currently held');
  });

  it('lets those write bundles of a signer who may attest for it', () => {
    const bundle = (signerName?: unknown, old?: object) => () =>
      check('certificates.k8s.io', 'clustertrustbundles', { spec: { signerName } }, { ...(old && { old }) });
    expect(bundle('example.com/a')).toThrow('user not permitted to attest for signerName "example.com/a"');
    expect(bundle()).not.toThrow();
    expect(bundle('')).not.toThrow();
    expect(bundle('example.com/a', { spec: { signerName: 'example.com/a' } })).not.toThrow();
    allowed = new Set(['attest signers example.com/a']);
    expect(bundle('example.com/a')).not.toThrow();
    expect(bundle('example.com/b')).toThrow('user not permitted to attest');
  });

  it('lets only administrators gather rules that are not known yet', () => {
    const gathers = { aggregationRule: { clusterRoleSelectors: [{}] } };
    const refused = 'must have cluster-admin privileges to use the aggregationRule';
    expect(role([PODS], gathers)).toThrow(refused);
    const dropped = () => check(RBAC, 'clusterroles', { rules: [PODS] }, { old: { rules: [], ...gathers } });
    expect(dropped).toThrow(refused);
    held = [
      { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
      { verbs: ['*'], nonResourceURLs: ['*'] },
    ];
    expect(role([PODS], gathers)).not.toThrow();
  });

  it('lets the garbage collector change owners and finalizers of roles that it could not write', () => {
    const old = { rules: [SECRETS], metadata: { name: 'x', finalizers: ['a'] } };
    expect(() => check(RBAC, 'clusterroles', { rules: [SECRETS] }, { old })).not.toThrow();
  });

  const csr =
    (signerName: string, change: { status?: object; subresource?: string; old?: object }, request = '') =>
    () =>
      check('certificates.k8s.io', 'certificatesigningrequests', { spec: { signerName, request }, ...change }, change);

  it('lets requests be approved and signed by those who may do it for their signer', () => {
    const old = { spec: { signerName: 'example.com/a' } };
    const approve = csr('example.com/a', { subresource: 'approval', old });
    const sign = csr('example.com/a', { subresource: 'status', old, status: { certificate: 'x' } });
    expect(approve).toThrow('user not permitted to approve requests with signerName "example.com/a"');
    expect(sign).toThrow('user not permitted to sign requests with signerName "example.com/a"');
    allowed = new Set(['approve signers example.com/b', 'sign signers example.com/b']);
    expect(approve).toThrow('user not permitted to approve');
    allowed = new Set(['approve signers example.com/a', 'sign signers example.com/*']);
    expect(approve).not.toThrow();
    expect(sign).not.toThrow();
  });

  it('refuses requests for client certificates of administrators', () => {
    const organization = Buffer.from([0x06, 0x03, 0x55, 0x04, 0x0a, 0x0c, 14]);
    const der = Buffer.concat([organization, Buffer.from('system:masters')]).toString('base64');
    const pem = `-----BEGIN CERTIFICATE REQUEST-----\n${der}\n-----END CERTIFICATE REQUEST-----\n`;
    const request = Buffer.from(pem).toString('base64');
    expect(csr(CLIENT, {}, request)).toThrow('signer with system:masters group is not allowed');
    expect(csr('example.com/a', {}, request)).not.toThrow();
    expect(csr(CLIENT, {})).not.toThrow();
  });
});
