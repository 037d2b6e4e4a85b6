import type { KubeObject, ObjectMeta, OwnerReference } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { type Action, isInCircle, type ObservedGarbage, type ObservedOwner, planGarbage } from './plan.ts';

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

function plan(observed: Pick<ObservedGarbage, 'object'> & Partial<ObservedGarbage>): readonly Action[] {
  return planGarbage({ owners: [], dependents: [], deadlock: 'none', ...observed }, 0).actions;
}

describe('planning garbage', () => {
  it('keeps what has no owner, or one that lives', () => {
    expect(plan({ object: object() })).toEqual([]);
    expect(plan({ object: object(), owners: [owner('present', 'x')] })).toEqual([]);
  });

  it('keeps dependents of a kind that is not served', () => {
    expect(plan({ object: object(), owners: [owner('unknown', 'x')] })).toEqual([]);
  });

  it('deletes what has lost all its owners', () => {
    const owners = [owner('absent', 'x'), owner('absent', 'y')];
    expect(plan({ object: object(), owners })).toEqual([{ kind: 'delete', propagation: 'Background' }]);
  });

  it('drops lost owners while another lives', () => {
    const owners = [owner('absent', 'x'), owner('present', 'y'), owner('deletingDependents', 'z')];
    expect(plan({ object: object(), owners })).toEqual([{ kind: 'dropOwners', uids: ['x', 'z'] }]);
  });

  it('orphans dependents before it lets their owner go', () => {
    const gone = object({ ...DELETING, finalizers: ['orphan'] });
    const child = dependent();
    expect(plan({ object: gone, dependents: [child] })).toEqual([
      { kind: 'orphan', dependent: child },
      { kind: 'removeFinalizer', finalizer: 'orphan' },
    ]);
  });

  it('lets a foreground deletion wait for those dependents that block it', () => {
    const gone = object({ ...DELETING, finalizers: ['foregroundDeletion'] });
    const child = dependent();
    expect(plan({ object: gone, dependents: [child] })).toEqual([{ kind: 'enqueue', dependent: child }]);
    const free = dependent({}, { blockOwnerDeletion: false });
    expect(plan({ object: gone, dependents: [free] })).toEqual([
      { kind: 'removeFinalizer', finalizer: 'foregroundDeletion' },
    ]);
  });

  it('deletes in the foreground what has dependents of its own and an owner that waits', () => {
    const owners = [owner('deletingDependents', 'x')];
    expect(plan({ object: object(), owners, dependents: [dependent()] })).toEqual([
      { kind: 'delete', propagation: 'Foreground' },
    ]);
    expect(plan({ object: object(), owners })).toEqual([{ kind: 'delete', propagation: 'Background' }]);
  });

  it('breaks a circle of foreground deletions', () => {
    const waiting = object({ ...DELETING, finalizers: ['foregroundDeletion'] });
    expect(plan({ object: waiting, dependents: [dependent()], deadlock: 'circle' })).toEqual([
      { kind: 'unblockOwners' },
    ]);
    const free = dependent({}, { blockOwnerDeletion: false });
    expect(plan({ object: waiting, dependents: [free], deadlock: 'circle' })).toEqual([
      { kind: 'removeFinalizer', finalizer: 'foregroundDeletion' },
    ]);
  });

  it('does nothing to what is being deleted already', () => {
    const gone = object(DELETING);
    expect(plan({ object: gone, owners: [owner('absent', 'x')], dependents: [dependent()] })).toEqual([]);
  });
});

describe('a circle of foreground deletions', () => {
  /** Each is owned by the next one, the last by the first. */
  function circle(marked: readonly string[], blockOwnerDeletion = true): (name: string) => boolean {
    const uids = ['a', 'b', 'c'];
    const objects = new Map(
      uids.map((uid, index): [string, KubeObject] => {
        const next = uids[(index + 1) % uids.length] ?? '';
        const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: next, uid: next, blockOwnerDeletion }];
        const deletion = marked.includes(uid) ? { ...DELETING, finalizers: ['foregroundDeletion'] } : {};
        return [uid, object({ name: uid, uid, ownerReferences, ...deletion })];
      }),
    );
    return (name) => isInCircle(objects.get(name) ?? object(), (_, { uid }) => objects.get(uid));
  }

  it('is seen by each member once the last is marked', () => {
    expect(['a', 'b', 'c'].map(circle(['a', 'b', 'c']))).toEqual([true, true, true]);
    for (const marked of [[], ['a'], ['a', 'b'], ['b', 'c']]) {
      expect(['a', 'b', 'c'].some(circle(marked))).toBe(false);
    }
  });

  it('is none when its members do not block each other', () => {
    expect(['a', 'b', 'c'].some(circle(['a', 'b', 'c'], false))).toBe(false);
  });

  it('is not seen by who only waits beside it', () => {
    const ownedBy = (uid: string) => [
      { apiVersion: 'v1', kind: 'ConfigMap', name: uid, uid, blockOwnerDeletion: true },
    ];
    const waits = { ...DELETING, finalizers: ['foregroundDeletion'] };
    const one = object({ uid: 'one', ownerReferences: ownedBy('one'), ...waits });
    const outside = object({ uid: 'outside', ownerReferences: ownedBy('one'), ...waits });
    expect(isInCircle(one, () => one)).toBe(true);
    expect(isInCircle(outside, () => one)).toBe(false);
  });
});
