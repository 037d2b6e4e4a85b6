import { CertificatesV1Api, type V1CertificateSigningRequest } from '@kubernetes/client-node';
import { expect } from 'vitest';
import { expectDiscovered } from './discovery-documents.ts';
import { KINDS } from './kinds.ts';
import { expectNewer, expectNotFound } from './outcome.ts';
import { Resource } from './resource.ts';
import { certificateRequest, issueServerIdentity } from './test-pki.ts';
import { proof } from './world.ts';

const HOUR_SECONDS = 3600;

type Requests = Resource<V1CertificateSigningRequest>;

/** As the operations of the other kinds, but told apart by their signer, and with /approval. */
export const certificateOperations = proof(
  '[sig-auth] Certificates API [Privileged:ClusterAdmin] should support CSR API operations [Conformance]',
  async (world) => {
    const kind = KINDS.CertificateSigningRequest;
    const requests: Requests = new Resource(world.cluster, kind);
    const signerName = `example.com/${world.unique('signer')}`;
    const selection = { fieldSelector: `spec.signerName=${signerName}` };
    world.atEnd(() => requests.deleteCollection(selection));
    await expectDiscovered(world.cluster, kind, ['approval', 'status']);

    const wanted: V1CertificateSigningRequest = {
      metadata: { generateName: 'conformance-csr-' },
      spec: {
        request: await certificateRequest('e2e.example.com'),
        signerName,
        expirationSeconds: HOUR_SECONDS,
        usages: ['digital signature', 'key encipherment', 'server auth'],
      },
    };
    await requests.create(wanted);
    await requests.create(wanted);
    const created = await requests.create(wanted);
    const name = created.metadata?.name ?? '';
    const got = await requests.get(name);
    expect(got.metadata?.uid).toBe(created.metadata?.uid);
    expect(got.spec.expirationSeconds).toBe(HOUR_SECONDS);
    const list = await requests.list(selection);
    expect(list.items).toHaveLength(3);

    const since = list.metadata?.resourceVersion ?? '';
    using watch = await requests.watch({ fieldSelector: `metadata.name=${name}`, resourceVersion: since });
    const patched = await requests.patch(name, 'merge', annotated('patched'));
    expect(patched).toMatchObject(annotated('patched'));
    expectNewer(patched, got);
    const changed = {
      ...patched,
      metadata: { ...patched.metadata, annotations: { patched: 'true', updated: 'true' } },
    };
    expect(await requests.replace(changed)).toMatchObject(annotated('updated'));
    expect(await watch.next('the patch')).toMatchObject({ type: 'MODIFIED', object: annotated('patched') });
    expect(await watch.next('the update')).toMatchObject({ type: 'MODIFIED', object: annotated('updated') });

    const api = world.api(CertificatesV1Api);
    await approve(requests, (body) => api.replaceCertificateSigningRequestApproval({ name, body }), created);
    await sign(requests, created);

    await requests.delete(name);
    await expectNotFound(requests.get(name));
    expect((await requests.list(selection)).items).toHaveLength(2);
    await requests.deleteCollection(selection);
    expect((await requests.list(selection)).items).toHaveLength(0);
  },
);

const annotated = (name: string) => ({ metadata: { annotations: { [name]: 'true' } } });

const identityOf = ({ metadata }: V1CertificateSigningRequest) => ({
  apiVersion: 'certificates.k8s.io/v1',
  kind: 'CertificateSigningRequest',
  metadata: { uid: metadata?.uid },
});

async function approve(
  requests: Requests,
  replaceApproval: (body: V1CertificateSigningRequest) => Promise<V1CertificateSigningRequest>,
  created: V1CertificateSigningRequest,
): Promise<void> {
  const name = created.metadata?.name ?? '';
  expect(await requests.get(name, 'approval')).toMatchObject(identityOf(created));
  const first = { type: 'ApprovalPatch', status: 'True', reason: 'conformance' };
  const patch = { ...annotated('patchedapproval'), status: { conditions: [first] } };
  const patched = await requests.patch(name, 'merge', patch, 'approval');
  expect(patched).toMatchObject(patch);
  expect(patched.status?.conditions).toHaveLength(1);
  const second = { type: 'Approved', status: 'True', reason: 'Conformance', message: 'Set by a test' };
  const conditions = [...(patched.status?.conditions ?? []), second];
  const updated = await replaceApproval({ ...patched, status: { ...patched.status, conditions } });
  expect(updated.status?.conditions?.map(({ type }) => type)).toEqual(['ApprovalPatch', 'Approved']);
}

async function sign(requests: Requests, created: V1CertificateSigningRequest): Promise<void> {
  const name = created.metadata?.name ?? '';
  expect(await requests.get(name, 'status')).toMatchObject(identityOf(created));
  const certificate = Buffer.from((await issueServerIdentity(['e2e.example.com'])).cert).toString('base64');
  const patch = { ...annotated('patchedstatus'), status: { certificate } };
  const patched = await requests.patch(name, 'merge', patch, 'status');
  expect(patched).toMatchObject(patch);
  const added = { type: 'StatusUpdate', status: 'True', reason: 'Conformance', message: 'Set by a test' };
  const conditions = [...(patched.status?.conditions ?? []), added];
  const updated = await requests.replace({ ...patched, status: { ...patched.status, conditions } }, 'status');
  expect(updated.status?.conditions).toHaveLength(conditions.length);
  expect(updated.status?.conditions?.at(-1)?.type).toBe('StatusUpdate');
}
