import type { PersistentVolume, PersistentVolumeClaim } from '@gantry/objects';
import { expect, it } from 'vitest';
import { growsClaim, planExpansionReport } from './plan.ts';

function claim(request: string, capacity: string, phase = 'Bound'): PersistentVolumeClaim {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { namespace: 'a', name: 'data', uid: 'u1' },
    spec: { resources: { requests: { storage: request } }, volumeName: 'v' },
    status: { phase, capacity: { storage: capacity } },
  };
}

function volume(uid: string, namespace = 'a'): PersistentVolume {
  const claimRef = { namespace, name: 'data', uid };
  return { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: 'v' }, spec: { claimRef } };
}

const WAITS = {
  kind: 'report',
  reason: 'ExternalExpanding',
  message: 'waiting for an external controller to expand this PVC',
};

it.each([
  ['asks for more than it has', claim('2Gi', '1Gi'), volume('u1'), [WAITS]],
  ['has what it asks for, in other units', claim('1Gi', '1024Mi'), volume('u1'), []],
  ['is not bound yet', claim('2Gi', '0', 'Pending'), volume('u1'), []],
  ['names a volume of another claim', claim('2Gi', '1Gi'), volume('u2'), []],
  ['names a volume of a claim elsewhere', claim('2Gi', '1Gi'), volume('u1', 'b'), []],
  ['names a volume that is not there', claim('2Gi', '1Gi'), undefined, []],
])('reports a claim that waits for its volume to grow, here one that %s', (_what, one, bound, actions) => {
  expect(planExpansionReport(one, bound)).toEqual({ actions });
});

it('looks at a claim again when it asks for more or has got more', () => {
  expect(growsClaim(claim('2Gi', '1Gi'), claim('1Gi', '1Gi'))).toBe(true);
  expect(growsClaim(claim('2Gi', '2Gi'), claim('2Gi', '1Gi'))).toBe(true);
  expect(growsClaim(claim('1Gi', '1Gi'), claim('2Gi', '1Gi'))).toBe(false);
  expect(growsClaim(claim('2048Mi', '1Gi'), claim('2Gi', '1Gi'))).toBe(false);
});
