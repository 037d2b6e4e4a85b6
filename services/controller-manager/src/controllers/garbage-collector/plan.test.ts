import type { KubeObject, ObjectMeta, OwnerReference } from '@gantry/api';
import { describe, expect, it } from 'vitest';
import { type ObservedOwner, planGarbage } from './plan.ts';

const DELETING = { deletionTimestamp: '2026-01-01T00:00:00Z' };

function object(metadata: Partial<ObjectMeta> = {}): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'o', namespace: 'a', uid: 'self', ...metadata } };
}

function owner(state: ObservedOwner['state'], uid: string): ObservedOwner {
  return { reference: { apiVersion: 'v1', kind: 'ConfigMap', name: uid, uid }, state };
}

function dependent(metadata: Partial<ObjectMeta> = {}, reference: Partial<OwnerReference> = {}): KubeObject {
  const ownerReferences = [
    { apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: 'self', blockOwnerDeletion: true, ...reference },
  ];
  return object({ name: 'd', uid: 'd', ownerReferences, ...metadata });
}

describe('planning garbage', () => {
  it('keeps what has no owner, or one that lives', () => {
    expect(planGarbage({ object: object(), owners: [], dependents: [] })).toEqual([]);
    expect(planGarbage({ object: object(), owners: [owner('present', 'x')], dependents: [] })).toEqual([]);
  });

  it('keeps what is owned by a kind that nobody serves', () => {
    expect(planGarbage({ object: object(), owners: [owner('unknown', 'x')], dependents: [] })).toEqual([]);
  });

  it('deletes what has lost all its owners', () => {
    const owners = [owner('absent', 'x'), owner('absent', 'y')];
    expect(planGarbage({ object: object(), owners, dependents: [] })).toEqual([
      { kind: 'delete', propagation: 'Background' },
    ]);
  });

  it('drops lost owners while another lives', () => {
    const owners = [owner('absent', 'x'), owner('present', 'y'), owner('deletingDependents', 'z')];
    expect(planGarbage({ object: object(), owners, dependents: [] })).toEqual([
      { kind: 'dropOwners', uids: ['x', 'z'] },
    ]);
  });

  it('orphans dependents before it lets their owner go', () => {
    const gone = object({ ...DELETING, finalizers: ['orphan'] });
    const child = dependent();
    expect(planGarbage({ object: gone, owners: [], dependents: [child] })).toEqual([
      { kind: 'orphan', dependent: child },
      { kind: 'removeFinalizer', finalizer: 'orphan' },
    ]);
  });

  it('lets a foreground deletion wait for those dependents that block it', () => {
    const gone = object({ ...DELETING, finalizers: ['foregroundDeletion'] });
    const child = dependent();
    expect(planGarbage({ object: gone, owners: [], dependents: [child] })).toEqual([
      { kind: 'visit', dependent: child },
    ]);
    const free = dependent({}, { blockOwnerDeletion: false });
    expect(planGarbage({ object: gone, owners: [], dependents: [free] })).toEqual([
      { kind: 'removeFinalizer', finalizer: 'foregroundDeletion' },
    ]);
  });

  it('deletes in the foreground what has dependents of its own and an owner that waits', () => {
    const owners = [owner('deletingDependents', 'x')];
    expect(planGarbage({ object: object(), owners, dependents: [dependent()] })).toEqual([
      { kind: 'delete', propagation: 'Foreground' },
    ]);
    expect(planGarbage({ object: object(), owners, dependents: [] })).toEqual([
      { kind: 'delete', propagation: 'Background' },
    ]);
  });

  it('breaks a circle of foreground deletions', () => {
    const waiting = dependent({ ...DELETING, finalizers: ['foregroundDeletion'] });
    const owners = [owner('deletingDependents', 'x')];
    expect(planGarbage({ object: object(), owners, dependents: [waiting] })).toEqual([
      { kind: 'unblockOwners' },
      { kind: 'delete', propagation: 'Foreground' },
    ]);
  });

  it('does nothing to what is being deleted already', () => {
    const gone = object(DELETING);
    expect(planGarbage({ object: gone, owners: [owner('absent', 'x')], dependents: [dependent()] })).toEqual([]);
  });
});
