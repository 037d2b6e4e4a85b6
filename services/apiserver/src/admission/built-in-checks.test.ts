import type { KubeObject } from '@gantry/objects';
import { beforeEach, describe, expect, it } from 'vitest';
import { patchBody, jsonBody, startHarness, type Harness, WRITE } from '../registry/testing.ts';

describe('the checks that are always on', () => {
  let h: Harness;
  beforeEach(async () => {
    h = await startHarness();
    await h.create('serviceaccounts', { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } });
  });

  const pod = (spec: object, metadata: object = {}): Promise<KubeObject> =>
    h.create('pods', {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p', ...metadata },
      spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
    });
  const patch = async (resource: string, name: string, body: object, subresource = ''): Promise<KubeObject> => {
    const bytes = new TextEncoder().encode(JSON.stringify(body));
    const target = h.target(resource, name, { subresource });
    const work = h.registry.patch(
      h.context(),
      target,
      patchBody('application/strategic-merge-patch+json', bytes),
      WRITE,
    );
    return (await h.settle(work)).response.object;
  };
  const node = (labels: object = {}) =>
    h.create('nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node', labels } });

  it('carry zone and region of a node over to its pods', async () => {
    await node({ 'topology.kubernetes.io/zone': 'z', other: 'o' });
    const direct = await pod({ nodeName: 'node' }, { labels: { 'topology.kubernetes.io/zone': 'mine', a: 'b' } });
    expect(direct.metadata.labels).toEqual({ 'topology.kubernetes.io/zone': 'z', a: 'b' });
    await pod({}, { name: 'q' });
    const binding = {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name: 'q' },
      target: { kind: 'Node', name: 'node' },
    };
    const target = h.target('pods', 'q', { subresource: 'binding' });
    const body = jsonBody(binding);
    await h.settle(h.registry.create(h.context(), target, body, WRITE));
    const bound = await h.settle(h.registry.get(h.context(), h.target('pods', 'q'), ''));
    expect(bound.object.metadata.labels).toEqual({ 'topology.kubernetes.io/zone': 'z' });
  });

  it('keep pods of an account that says so to the secrets that it names', async () => {
    await h.create('serviceaccounts', {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'strict', annotations: { 'kubernetes.io/enforce-mountable-secrets': 'true' } },
      secrets: [{ name: 'own' }],
    });
    const volumes = (secretName: string) => ({
      serviceAccountName: 'strict',
      volumes: [{ name: 'v', secret: { secretName } }],
    });
    await expect(pod(volumes('other'))).rejects.toThrow(
      'pods "p" is forbidden: volume with secret.secretName="other" is not allowed because service account strict does not reference that secret',
    );
    const env = [{ name: 'E', valueFrom: { secretKeyRef: { name: 'other', key: 'k' } } }];
    await expect(pod({ serviceAccountName: 'strict', containers: [{ name: 'c', image: 'i', env }] })).rejects.toThrow(
      'container c with envVar E referencing secret.secretName="other" is not allowed',
    );
    await pod(volumes('own'));
  });

  it('wait for the account that every namespace has', async () => {
    const metadata = { name: 'p', namespace: 'default' };
    const target = h.target('pods', '', { namespace: 'default' });
    const spec = { containers: [{ name: 'c', image: 'i' }] };
    const body = jsonBody({ apiVersion: 'v1', kind: 'Pod', metadata, spec });
    const early = h.registry.create(h.context(), target, body, WRITE);
    const account = jsonBody({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } });
    await h.registry.create(h.context(), h.target('serviceaccounts', '', { namespace: 'default' }), account, WRITE);
    expect((await h.settle(early)).object.metadata.name).toBe('p');
    const missing = pod({ serviceAccountName: 'none' });
    await expect(missing).rejects.toThrow('error looking up service account n/none: serviceaccount "none" not found');
  });

  it('let pods that mirror a file of a node have nothing of the cluster', async () => {
    const metadata = { annotations: { 'kubernetes.io/config.mirror': 'x' } };
    await node();
    await expect(pod({ nodeName: 'node', serviceAccountName: 'default' }, metadata)).rejects.toThrow(
      'a mirror pod may not reference service accounts',
    );
    await expect(pod({ nodeName: 'node', imagePullSecrets: [{ name: 's' }] }, metadata)).rejects.toThrow(
      'a mirror pod may not reference secrets',
    );
    const made = await pod({ nodeName: 'node' }, metadata);
    expect((made as { spec?: object }).spec).not.toHaveProperty('serviceAccountName');
  });

  it.each([
    [false, 'only dynamically provisioned pvc can be resized and the storageclass'],
    [true, undefined],
  ])('let a bound claim grow where its class allows it (%s)', async (allowVolumeExpansion, refused) => {
    const metadata = { name: 'class' };
    await h.create('storageclasses', {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata,
      provisioner: 'x',
      allowVolumeExpansion,
    });
    await h.create('persistentvolumeclaims', {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'c' },
      spec: {
        accessModes: ['ReadWriteOnce'],
        storageClassName: 'class',
        resources: { requests: { storage: '1Gi' } },
      },
    });
    await patch('persistentvolumeclaims', 'c', { status: { phase: 'Bound' } }, 'status');
    const grown = patch('persistentvolumeclaims', 'c', { spec: { resources: { requests: { storage: '2Gi' } } } });
    if (refused === undefined) expect((await grown).metadata.name).toBe('c');
    else await expect(grown).rejects.toThrow(refused);
  });

  it('let a pod grow only as far as its node could hold it', async () => {
    await node();
    await patch('nodes', 'node', { status: { allocatable: { cpu: '1', memory: '1Gi' } } }, 'status');
    const requests = (cpu: string) => ({ containers: [{ name: 'c', image: 'i', resources: { requests: { cpu } } }] });
    await pod({ nodeName: 'node', ...requests('500m') });
    await expect(patch('pods', 'p', { spec: requests('1500m') }, 'resize')).rejects.toMatchObject({
      message:
        'pods "p" is forbidden: node didn\'t have enough allocatable resources: cpu, requested: 1500, allocatable: 1000',
      details: { causes: [{ reason: 'NodeCapacity' }] },
    });
    await patch('pods', 'p', { spec: requests('800m') }, 'resize');
  });

  it('refuse a pod of a runtime class that there is not', async () => {
    await expect(pod({ runtimeClassName: 'none' })).rejects.toThrow(
      'pods "p" is forbidden: pod rejected: RuntimeClass "none" not found',
    );
  });

  it('count the overhead of a pod that grows', async () => {
    await node();
    await patch('nodes', 'node', { status: { allocatable: { cpu: '1', memory: '1Gi' } } }, 'status');
    await h.create('runtimeclasses', {
      apiVersion: 'node.k8s.io/v1',
      kind: 'RuntimeClass',
      metadata: { name: 'heavy' },
      handler: 'heavy',
      overhead: { podFixed: { cpu: '300m' } },
    });
    const requests = (cpu: string) => ({ containers: [{ name: 'c', image: 'i', resources: { requests: { cpu } } }] });
    await pod({ nodeName: 'node', runtimeClassName: 'heavy', ...requests('500m') });
    await expect(patch('pods', 'p', { spec: requests('800m') }, 'resize')).rejects.toThrow('requested: 1100');
    await patch('pods', 'p', { spec: requests('700m') }, 'resize');
  });

  it('let a pod change only as its node says that it can', async () => {
    await node();
    const resources = (cpu: string) => ({ resources: { requests: { cpu }, limits: { cpu } } });
    await pod({ nodeName: 'node', ...resources('500m') });
    const feature = 'InPlacePodLevelResourcesVerticalScaling';
    const status = (declaredFeatures: string[]) => ({ status: { allocatable: { cpu: '2' }, declaredFeatures } });
    await patch('nodes', 'node', status([]), 'status');
    await expect(patch('pods', 'p', { spec: resources('1') }, 'resize')).rejects.toThrow(
      `pods "p" is forbidden: pod update requires features ${feature} which are not available on node "node"`,
    );
    await patch('nodes', 'node', status([feature]), 'status');
    expect((await patch('pods', 'p', { spec: resources('1') }, 'resize')).metadata.generation).toBe(2);
  });
});
