import { expect, it } from 'vitest';
import type { PodSpec } from '../generated/types.ts';
import { apiReferenceOf } from './api-references.ts';

const container = { name: 'c', image: 'i' };
const referenceIn = (spec: Partial<PodSpec>) =>
  apiReferenceOf({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p' },
    spec: { containers: [container], ...spec },
  });
const projected = (source: object) => ({ volumes: [{ name: 'v', projected: { sources: [source] } }] });

it.each<[string | undefined, Partial<PodSpec>]>([
  [undefined, {}],
  [
    undefined,
    {
      volumes: [
        { name: 'v', emptyDir: {} },
        { name: 'h', hostPath: { path: '/' } },
        { name: 'i', image: {} },
      ],
    },
  ],
  [undefined, { volumes: [{ name: 'v', downwardAPI: {} }] }],
  [undefined, projected({ downwardAPI: {} })],
  [
    undefined,
    { containers: [{ ...container, env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.uid' } } }] }] },
  ],
  ['serviceaccounts', { serviceAccountName: 'default' }],
  ['secrets', { imagePullSecrets: [{ name: 's' }] }],
  ['secrets', { containers: [{ ...container, envFrom: [{ secretRef: { name: 's' } }] }] }],
  [
    'secrets',
    { initContainers: [{ ...container, env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }] }] },
  ],
  ['secrets', { volumes: [{ name: 'v', azureFile: { secretName: 's', shareName: 'x' } }] }],
  ['secrets', { volumes: [{ name: 'v', csi: { driver: 'd', nodePublishSecretRef: { name: 's' } } }] }],
  ['secrets', { volumes: [{ name: 'v', rbd: { image: 'i', monitors: [], secretRef: { name: 's' } } }] }],
  ['secrets', projected({ secret: { name: 's' } })],
  ['configmaps', { containers: [{ ...container, envFrom: [{ configMapRef: { name: 'c' } }] }] }],
  [
    'configmaps',
    {
      ephemeralContainers: [
        { ...container, env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'c', key: 'k' } } }] },
      ],
    },
  ],
  ['configmaps', projected({ configMap: { name: 'c' } })],
  ['resourceclaims', { resourceClaims: [{ name: 'r' }] }],
  ['csidrivers (via CSI volumes)', { volumes: [{ name: 'v', csi: { driver: 'd' } }] }],
  ['endpoints (via glusterFS volumes)', { volumes: [{ name: 'v', glusterfs: { endpoints: 'e', path: 'p' } }] }],
  ['persistentvolumeclaims', { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }] }],
  ['persistentvolumeclaims (via ephemeral volumes)', { volumes: [{ name: 'v', ephemeral: {} }] }],
  ['serviceaccounts (via projected volumes)', projected({ serviceAccountToken: { path: 't' } })],
  ['clustertrustbundles', projected({ clusterTrustBundle: { path: 't' } })],
  ['podcertificates', projected({ podCertificate: { keyType: 'ED25519', signerName: 's' } })],
  ['objects of unknown kinds (via newest)', { volumes: [{ name: 'v', newest: {} } as never] }],
])('names %s', (reference, spec) => {
  expect(referenceIn(spec)).toBe(reference);
});
