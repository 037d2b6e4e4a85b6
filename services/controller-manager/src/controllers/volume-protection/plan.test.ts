import { readFileSync } from 'node:fs';
import {
  ATTRIBUTES_PROTECTION,
  CLAIM_PROTECTION,
  type PersistentVolumeClaim,
  type Pod,
  type VolumeAttributesClass,
} from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { isClaimUsed, isClassUsed, planProtection } from './plan.ts';

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

interface Case {
  readonly name: string;
  readonly deleting?: boolean;
  readonly used?: boolean;
  /** `own` stands for the controller's finalizer. */
  readonly finalizers: readonly string[];
  /** The finalizers that are written. When absent, nothing is written. */
  readonly want?: readonly string[];
}

const CASES = JSON.parse(readFileSync(new URL('cases.json', import.meta.url), 'utf8')) as readonly Case[];
const named = (finalizers: readonly string[]) => finalizers.map((one) => (one === 'own' ? CLAIM_PROTECTION : one));

describe('letting protected objects go', () => {
  it.each(CASES)('$name', ({ deleting = false, used = false, finalizers, want }) => {
    const { deletionTimestamp, ...metadata } = claim.metadata;
    const object = {
      ...claim,
      metadata: { ...metadata, finalizers: named(finalizers), ...(deleting ? { deletionTimestamp } : {}) },
    };
    const { actions } = planProtection(object, CLAIM_PROTECTION, used);
    expect(actions.map((action) => action.object.metadata.finalizers)).toEqual(want === undefined ? [] : [named(want)]);
    const after = actions[0]?.object ?? object;
    expect(planProtection(after, CLAIM_PROTECTION, used).actions).toEqual([]);
  });

  it.each([
    ['a pod on a node', pod('node', [{ name: 'v', persistentVolumeClaim: { claimName: 'a' } }]), true],
    ['a pod that no node knows', pod('', [{ name: 'v', persistentVolumeClaim: { claimName: 'a' } }]), false],
    ['a pod of another claim', pod('node', [{ name: 'v', persistentVolumeClaim: { claimName: 'b' } }]), false],
  ])('tells whether %s uses a claim', (_, one, used) => {
    expect(isClaimUsed(claim, [one])).toBe(used);
  });

  describe('of a claim that is made for an ephemeral volume', () => {
    const owner = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u', controller: true };
    const made = { ...claim, metadata: { ...claim.metadata, name: 'p-v', ownerReferences: [owner] } };
    const uses = (metadata: Partial<Pod['metadata']>): boolean => {
      const one = pod('node', [{ name: 'v', ephemeral: {} }]);
      return isClaimUsed(made, [{ ...one, metadata: { ...one.metadata, ...metadata } }]);
    };
    const deletionTimestamp = '2026-01-01T00:00:00Z';

    it('counts the pod that it is made for, and no other', () => {
      expect(uses({ uid: 'u' })).toBe(true);
      expect(uses({ uid: 'other' })).toBe(false);
    });

    it('counts a pod only until its containers are gone, since the pod may wait for the claim', () => {
      expect(uses({ uid: 'u', deletionTimestamp, deletionGracePeriodSeconds: 30 })).toBe(true);
      expect(uses({ uid: 'u', deletionTimestamp, deletionGracePeriodSeconds: 0 })).toBe(false);
    });
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
