import { describe, expect, it } from 'vitest';
import { readManifest } from './read-manifest.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const place = { node: 'node-a', path: '/p/web.yaml', now: NOW };
const read = (text: string, change: Partial<typeof place> = {}) =>
  readManifest(Buffer.from(text), { ...place, ...change });

const WEB = `
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}, uid: given, annotations: {kubernetes.io/config.mirror: x, own: mine}}
spec:
  containers: [{name: main, image: nginx}]
`;
const withSpec = (spec: string) =>
  `{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}], ${spec}}}`;

describe('a static pod', () => {
  it('has its node in its name, a hash of the file as uid, and the annotations of kubelet', async () => {
    const { pod } = await read(WEB);
    const uid = pod.metadata.uid ?? '';
    expect(uid).toMatch(/^[0-9a-f]{32}$/);
    expect(pod.metadata).toEqual({
      name: 'web-node-a',
      namespace: 'default',
      uid,
      labels: { app: 'web' },
      annotations: {
        own: 'mine',
        'kubernetes.io/config.hash': uid,
        'kubernetes.io/config.seen': '2026-01-01T00:00:00Z',
        'kubernetes.io/config.source': 'file',
      },
    });
    expect(pod.spec).toMatchObject({
      nodeName: 'node-a',
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      tolerations: [{ operator: 'Exists', effect: 'NoExecute' }],
    });
    expect(pod.status).toMatchObject({ phase: 'Pending' });
  });

  it('has another uid for another text, place or node, and the same for the same', async () => {
    const uidOf = async (...of: Parameters<typeof read>) => (await read(...of)).pod.metadata.uid;
    const first = await uidOf(WEB);
    expect(await uidOf(WEB)).toBe(first);
    expect(await uidOf(`${WEB}\n`)).not.toBe(first);
    expect(await uidOf(WEB, { path: '/p/other.yaml' })).not.toBe(first);
    expect(await uidOf(WEB, { node: 'node-b' })).not.toBe(first);
  });

  it('may be JSON, keeps its namespace, and tolerates what it said once', async () => {
    const tolerations = [{ operator: 'Exists', effect: 'NoExecute' }];
    const text = JSON.stringify({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p', namespace: 'kube-system' },
      spec: { tolerations, containers: [{ name: 'c', image: 'i' }] },
    });
    const { pod } = await read(text);
    expect([pod.metadata.namespace, pod.spec?.tolerations]).toEqual(['kube-system', tolerations]);
  });

  it('says which fields it does not know', async () => {
    expect((await read(withSpec('colour: red'))).warnings).toEqual(['unknown field "spec.colour"']);
  });

  it.each([
    ['kind: Pod: x', 'mapping values are not allowed'],
    ['', 'name is needed for the pod'],
    ['{apiVersion: v1, kind: Service, metadata: {name: s}}', 'Service in version "v1" cannot be handled as a Pod'],
    ['{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: []}}', 'spec.containers: Required value'],
    [withSpec('restartPolicy: Perhaps'), 'spec.restartPolicy: Unsupported value: "Perhaps"'],
    [withSpec('serviceAccountName: default'), 'static pods may not reference serviceaccounts'],
    [withSpec('imagePullSecrets: [{name: s}]'), 'static pods may not reference secrets'],
    [withSpec('volumes: [{name: v, secret: {secretName: s}}]'), 'static pods may not reference secrets'],
    [withSpec('volumes: [{name: v, configMap: {name: s}}]'), 'static pods may not reference configmaps'],
    [
      withSpec('volumes: [{name: v, persistentVolumeClaim: {claimName: s}}]'),
      'static pods may not reference persistentvolumeclaims',
    ],
    [
      withSpec('volumes: [{name: v, projected: {sources: [{clusterTrustBundle: {name: b, path: p}}]}}]'),
      'static pods may not reference clustertrustbundles',
    ],
  ])('is refused with the field and the reason: %s', async (text, message) => {
    await expect(read(text)).rejects.toMatchObject({
      code: 'InvalidManifest',
      message: expect.stringContaining(message),
    });
  });
});
