import { expect, it } from 'vitest';
import type { Pod } from '../generated/types.ts';
import { secretsOfPod } from './secrets-of-pod.ts';

it('finds the Secrets of a pod wherever they are named', () => {
  const container = (name: string) => ({
    name,
    env: [
      { name: 'a', valueFrom: { secretKeyRef: { name: `${name}-key`, key: 'k' } } },
      { name: 'b', value: 'plain' },
    ],
    envFrom: [{ secretRef: { name: `${name}-all` } }, { configMapRef: { name: 'no secret' } }],
  });
  const secretRef = { name: 'of-volume' };
  const pod: Pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {},
    spec: {
      imagePullSecrets: [{ name: 'pull' }, { name: '' }],
      containers: [container('main')],
      initContainers: [container('init')],
      ephemeralContainers: [container('later')],
      volumes: [
        { name: 'a', secret: { secretName: 'mounted' } },
        {
          name: 'b',
          projected: { sources: [{ secret: { name: 'projected' } }, { configMap: { name: 'no secret' } }] },
        },
        { name: 'c', azureFile: { secretName: 'azure', shareName: 's' } },
        { name: 'd', csi: { driver: 'd', nodePublishSecretRef: { name: 'csi' } } },
        { name: 'e', rbd: { image: 'i', monitors: [], secretRef } },
        { name: 'f', emptyDir: {} },
      ],
    },
  };
  const inContainers = ['init', 'main', 'later'].flatMap((name) => [`${name}-all`, `${name}-key`]);
  const inVolumes = ['mounted', 'projected', 'azure', 'csi', 'of-volume'];
  expect([...secretsOfPod(pod)]).toEqual(['pull', ...inContainers, ...inVolumes]);
  expect([...secretsOfPod({ apiVersion: 'v1', kind: 'Pod', metadata: {} })]).toEqual([]);
});
