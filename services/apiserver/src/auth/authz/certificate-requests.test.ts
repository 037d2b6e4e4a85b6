import { CERTIFICATE } from '@gantry/kinds/testing';
import { createRequest, generateKey } from '@gantry/tls';
import type { CertificateSigningRequest, KubeObject } from '@gantry/objects';
import { beforeEach, describe, expect, it } from 'vitest';
import { createRegistry } from '../../registry/create-registry.ts';
import type { Registry } from '../../registry/index.ts';
import { startHarness, type Harness, jsonBody, patchBody, WRITE } from '../../registry/testing.ts';
import { authenticated } from '../authn/identity.ts';
import type { AccessDecider } from './authorizer.ts';
import { createEscalationCheck } from './escalation-check.ts';

const SIGNER = 'kubernetes.io/kube-apiserver-client';
const JANE = authenticated('jane', ['developers'], { uid: 'u', extra: { 'example.com/team': ['a'] } });

describe('certificate requests', () => {
  let h: Harness;
  let registry: Registry;
  /** The rights of all users on signers, as `verb signer`. */
  let rights: readonly string[];
  beforeEach(async () => {
    h = await startHarness();
    rights = [];
    const access: AccessDecider = {
      decide: (_, { verb, target }) => ({ allowed: rights.includes(`${verb} ${target.name}`), reason: '' }),
      decidePath: () => ({ allowed: false, reason: '' }),
      rulesFor: () => ({ rules: [], problem: '' }),
    };
    const roles = { grants: () => [], rulesOf: () => undefined };
    registry = createRegistry({ ...h.deps, escalationCheck: createEscalationCheck(access, roles) });
  });

  const byJane = () => h.context({ user: JANE });
  const ask = async (subject: string, spec: object = {}): Promise<CertificateSigningRequest> => {
    const request = Buffer.from(await createRequest(subject, [], await generateKey())).toString('base64');
    const body = jsonBody({
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: { name: 'r' },
      spec: { request, signerName: SIGNER, usages: ['client auth'], ...spec },
    });
    const target = h.target('certificatesigningrequests', '');
    return (await h.settle(registry.create(byJane(), target, body, WRITE))).object as CertificateSigningRequest &
      KubeObject;
  };
  const patch = async (subresource: string, body: object) => {
    const bytes = new TextEncoder().encode(JSON.stringify(body));
    const target = h.target('certificatesigningrequests', 'r', { subresource });
    const work = registry.patch(byJane(), target, patchBody('application/merge-patch+json', bytes), WRITE);
    return (await h.settle(work)).response.object as CertificateSigningRequest & KubeObject;
  };
  const approval = { status: { conditions: [{ type: 'Approved', status: 'True', reason: 'r', message: 'm' }] } };
  const certificate = { status: { certificate: CERTIFICATE.toString('base64') } };

  it('say who asks as authentication found out, for good', async () => {
    const forged = { username: 'kubernetes-admin', uid: 'x', groups: ['system:masters'], extra: { a: ['b'] } };
    const truth = { username: 'jane', uid: 'u', groups: JANE.groups, extra: JANE.extra };
    expect((await ask('CN=jane', forged)).spec).toMatchObject(truth);
    const signerName = 'example.com/other';
    for (const subresource of ['', 'approval', 'status']) {
      rights = [`approve ${SIGNER}`, `sign ${SIGNER}`];
      const { spec } = await patch(subresource, { spec: { ...forged, signerName, usages: ['any'] } });
      expect(spec).toMatchObject({ ...truth, signerName: SIGNER, usages: ['client auth'] });
    }
  });

  it.each([SIGNER, 'kubernetes.io/*'])('are approved and signed by who may do so for %s', async (signer) => {
    await ask('CN=jane');
    rights = ['approve example.com/other', 'approve example.com/*', `sign ${signer}`];
    await expect(patch('approval', approval)).rejects.toThrow(
      `user not permitted to approve requests with signerName "${SIGNER}"`,
    );
    rights = [`approve ${signer}`];
    expect((await patch('approval', approval)).status?.conditions?.[0]?.type).toBe('Approved');
    await expect(patch('status', certificate)).rejects.toThrow(
      `user not permitted to sign requests with signerName "${SIGNER}"`,
    );
    rights = [`sign ${signer}`];
    const signed = await patch('status', { spec: { signerName: 'example.com/other' }, ...certificate });
    expect(signed).toMatchObject({ spec: { signerName: SIGNER }, ...certificate });
  });

  it.each(['system:masters', 'gantry:services', 'gantry:apiservers'])('do not ask for the group %s', async (group) => {
    await expect(ask(`O=developers, O=${group}, CN=jane`)).rejects.toThrow(
      `use of ${SIGNER} signer with ${group} group is not allowed`,
    );
  });
});
