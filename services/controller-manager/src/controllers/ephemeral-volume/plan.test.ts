import type { PersistentVolumeClaim, Pod } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { planEphemeralVolumes } from './plan.ts';

const pod: Pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace: 'ns', name: 'p', uid: 'uid-p' },
  spec: {
    containers: [],
    volumes: [
      { name: 'plain', emptyDir: {} },
      {
        name: 'scratch',
        ephemeral: {
          volumeClaimTemplate: {
            metadata: { labels: { a: 'b' }, annotations: { c: 'd' } },
            spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
          },
        },
      },
    ],
  },
};
const none = () => undefined;

describe('the claims of ephemeral volumes', () => {
  it('are made once, and belong to the pod', () => {
    const { actions } = planEphemeralVolumes(pod, none);
    const owner = {
      apiVersion: 'v1',
      kind: 'Pod',
      name: 'p',
      uid: 'uid-p',
      controller: true,
      blockOwnerDeletion: true,
    };
    const claim: PersistentVolumeClaim = {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: {
        namespace: 'ns',
        name: 'p-scratch',
        ownerReferences: [owner],
        annotations: { c: 'd' },
        labels: { a: 'b' },
      },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    };
    expect(actions).toEqual([{ kind: 'createClaim', volume: 'scratch', claim }]);
    expect(planEphemeralVolumes(pod, () => claim).actions).toEqual([]);
  });

  it('are not made for a pod that is deleted', () => {
    const deleted = { ...pod, metadata: { ...pod.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
    expect(planEphemeralVolumes(deleted, none).actions).toEqual([]);
  });

  it('are never another claim, nor that of a pod which had the name before', () => {
    const other: PersistentVolumeClaim = {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: {
        namespace: 'ns',
        name: 'p-scratch',
        ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'uid-before', controller: true }],
      },
    };
    const message = 'PVC ns/p-scratch was not created for pod ns/p (pod is not owner)';
    expect(planEphemeralVolumes(pod, () => other).actions).toEqual([{ kind: 'refuse', volume: 'scratch', message }]);
  });
});
