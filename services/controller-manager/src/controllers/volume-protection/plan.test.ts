import type { PersistentVolumeClaim, Pod, VolumeAttributesClass } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { ATTRIBUTES_PROTECTION, CLAIM_PROTECTION, isClaimUsed, isClassUsed, planRelease } from './plan.ts';

const claim: PersistentVolumeClaim = {
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: {
    name: 'a',
    namespace: 'n',
    deletionTimestamp: '2026-01-01T00:00:00Z',
    finalizers: ['x', CLAIM_PROTECTION],
  },
};

const pod = (nodeName: string, volumes: NonNullable<Pod['spec']>['volumes']): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'n' },
  spec: { containers: [], nodeName, volumes },
});

describe('letting protected objects go', () => {
  it('takes its own mark away from what is deleted and unused, once', () => {
    const [action] = planRelease(claim, CLAIM_PROTECTION, false).actions;
    const released = action?.object;
    expect(released?.metadata.finalizers).toEqual(['x']);
    expect(released === undefined ? [] : planRelease(released, CLAIM_PROTECTION, false).actions).toEqual([]);
  });

  it('keeps objects that are in use or not deleted', () => {
    expect(planRelease(claim, CLAIM_PROTECTION, true).actions).toEqual([]);
    const { deletionTimestamp: _at, ...metadata } = claim.metadata;
    expect(planRelease({ ...claim, metadata }, CLAIM_PROTECTION, false).actions).toEqual([]);
  });

  it.each([
    ['a pod on a node', pod('node', [{ name: 'v', persistentVolumeClaim: { claimName: 'a' } }]), true],
    ['a pod that no node knows', pod('', [{ name: 'v', persistentVolumeClaim: { claimName: 'a' } }]), false],
    ['a pod of another claim', pod('node', [{ name: 'v', persistentVolumeClaim: { claimName: 'b' } }]), false],
  ])('tells whether %s uses a claim', (_, one, used) => {
    expect(isClaimUsed(claim, [one])).toBe(used);
  });

  it('counts the claims that are made for ephemeral volumes', () => {
    const made = { ...claim, metadata: { ...claim.metadata, name: 'p-v' } };
    expect(isClaimUsed(made, [pod('node', [{ name: 'v', ephemeral: {} }])])).toBe(true);
  });

  it('holds a class that a claim is being moved to', () => {
    const attributes: VolumeAttributesClass = {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'VolumeAttributesClass',
      metadata: { ...claim.metadata, name: 'fast', finalizers: [ATTRIBUTES_PROTECTION] },
      driverName: 'd',
    };
    const modifyVolumeStatus = { targetVolumeAttributesClassName: 'fast', status: 'Pending' };
    expect(isClassUsed(attributes, [{ ...claim, status: { modifyVolumeStatus } }], [])).toBe(true);
    expect(isClassUsed(attributes, [claim], [])).toBe(false);
  });
});
