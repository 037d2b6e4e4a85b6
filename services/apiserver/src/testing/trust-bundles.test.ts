import { decodeProtobuf, encodeProtobuf } from '@gantry/apimachinery';
import { optionalResources, resources } from '@gantry/kinds';
import { CERTIFICATE } from '@gantry/kinds/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callServer, type CallOptions } from './call-server.ts';
import { startApiServer, type TestApiServer } from './start-api-server.ts';

const PATH = '/apis/certificates.k8s.io/v1beta1/clustertrustbundles';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const DISCOVERY = `${RBAC}/clusterroles/system:cluster-trust-bundle-discovery`;
const bundle = (name: string, signerName?: string) =>
  JSON.stringify({
    apiVersion: 'certificates.k8s.io/v1beta1',
    kind: 'ClusterTrustBundle',
    metadata: { name },
    spec: { trustBundle: CERTIFICATE.toString(), ...(signerName === undefined ? {} : { signerName }) },
  });

describe('bundles of trust anchors', () => {
  let plain: TestApiServer;
  let server: TestApiServer;
  beforeAll(async () => {
    plain = await startApiServer();
    server = await startApiServer({ resources: [...resources, ...optionalResources] });
  });
  afterAll(async () => {
    await plain.stop();
    await server.stop();
  });
  const call = (method: string, path: string, options: CallOptions = {}) => callServer(server, method, path, options);

  it('are served where that is asked for, and nowhere else', async () => {
    expect((await callServer(plain, 'GET', PATH)).code).toBe(404);
    expect((await callServer(plain, 'GET', DISCOVERY)).code).toBe(404);
    const { json: group } = await call('GET', '/apis/certificates.k8s.io');
    expect(group).toMatchObject({
      versions: [{ version: 'v1' }, { version: 'v1beta1' }],
      preferredVersion: { version: 'v1' },
    });
    const { json: listed } = await call('GET', '/apis/certificates.k8s.io/v1beta1');
    expect(listed).toMatchObject({
      resources: [{ name: 'clustertrustbundles', kind: 'ClusterTrustBundle', namespaced: false }],
    });
    expect((await call('GET', DISCOVERY)).json).toMatchObject({
      rules: [
        { apiGroups: ['certificates.k8s.io'], resources: ['clustertrustbundles'], verbs: ['get', 'list', 'watch'] },
      ],
    });
    const { json: binding } = await call('GET', DISCOVERY.replace('clusterroles', 'clusterrolebindings'));
    expect(binding).toMatchObject({ subjects: [{ kind: 'Group', name: 'system:serviceaccounts' }] });
  });

  it('with a signer that is no text are invalid', async () => {
    const spec = { trustBundle: CERTIFICATE.toString(), signerName: 5 };
    const body = JSON.stringify({ ...(JSON.parse(bundle('a')) as object), spec });
    const { code, json } = await call('POST', PATH, { body });
    expect([code, json]).toEqual([422, expect.objectContaining({ message: expect.stringContaining('signerName') })]);
  });

  it('of a signer are written by those alone who may attest for it', async () => {
    const as = await server.pki.issue('jane', ['developers']);
    const rule = (verbs: string[], names?: string[]) => ({
      apiGroups: ['certificates.k8s.io'],
      resources: [names === undefined ? 'clustertrustbundles' : 'signers'],
      verbs,
      ...(names === undefined ? {} : { resourceNames: names }),
    });
    const grant = async (name: string, rules: object[]) => {
      const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name }, rules };
      const binding = {
        ...{ apiVersion: role.apiVersion, kind: 'ClusterRoleBinding', metadata: { name } },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'jane' }],
      };
      for (const [kind, object] of [
        ['clusterroles', role],
        ['clusterrolebindings', binding],
      ] as const)
        expect((await call('POST', `${RBAC}/${kind}`, { body: JSON.stringify(object) })).code).toBe(201);
    };
    await grant('bundles', [rule(['create', 'update', 'get'])]);
    expect((await call('POST', PATH, { as, body: bundle('roots') })).code).toBe(201);
    const signed = bundle('example.com:a:v1', 'example.com/a');
    const refused = await call('POST', PATH, { as, body: signed });
    expect(refused.code).toBe(403);
    expect(refused.json['message']).toBe(
      'clustertrustbundles.certificates.k8s.io "example.com:a:v1" is forbidden: user not permitted to attest for signerName "example.com/a"',
    );
    expect((await call('POST', PATH, { as, body: signed.replace(/"spec".*/, '"other":1}') })).code).toBe(422);
    await grant('attests', [rule(['attest'], ['example.com/*'])]);
    expect((await call('POST', PATH, { as, body: signed })).code).toBe(201);
    const patched = await call('PATCH', `${PATH}/example.com:a:v1`, {
      headers: { 'content-type': 'application/strategic-merge-patch+json' },
      body: '{"metadata":{"labels":{"live":"yes"}}}',
    });
    expect(patched.json).toMatchObject({
      metadata: { labels: { live: 'yes' } },
      spec: { signerName: 'example.com/a' },
    });
    const selected = await call('GET', `${PATH}?fieldSelector=spec.signerName%3Dexample.com%2Fa`);
    expect(selected.json).toMatchObject({ items: [{ metadata: { name: 'example.com:a:v1' } }] });
  });

  it('are written and read as protobuf too', async () => {
    const protobuf = 'application/vnd.kubernetes.protobuf';
    const trustBundle = CERTIFICATE.toString();
    const object = {
      apiVersion: 'certificates.k8s.io/v1beta1',
      kind: 'ClusterTrustBundle',
      metadata: { name: 'by-protobuf' },
      spec: { signerName: '', trustBundle },
    };
    const headers = { 'content-type': protobuf, accept: protobuf };
    const created = await call('POST', PATH, { headers, body: encodeProtobuf(object) });
    expect([created.code, created.headers['content-type']]).toEqual([201, protobuf]);
    expect(decodeProtobuf(created.bytes)).toMatchObject({
      kind: object.kind,
      metadata: object.metadata,
      spec: object.spec,
    });
    const { json } = await call('GET', `${PATH}/by-protobuf`);
    expect(json).toMatchObject({ metadata: { name: 'by-protobuf', managedFields: [{}] } });
    expect(json['spec']).toEqual({ trustBundle });
    const list = await call('GET', PATH, { headers: { accept: protobuf } });
    expect(list.code).toBe(200);
    const { items } = decodeProtobuf(list.bytes) as unknown as { readonly items: readonly object[] };
    expect(items).toContainEqual(expect.objectContaining({ spec: { signerName: '', trustBundle } }));
    const wrong = { ...object, metadata: { name: 'empty' }, spec: { signerName: '', trustBundle: '' } };
    const refused = await call('POST', PATH, { headers, body: encodeProtobuf(wrong) });
    expect(refused.code).toBe(422);
  });

  it('are read by agents', async () => {
    const as = await server.pki.issue('system:node:n', ['system:nodes']);
    expect((await call('GET', PATH, { as })).code).toBe(200);
    expect((await call('DELETE', `${PATH}/roots`, { as })).code).toBe(403);
  });
});
