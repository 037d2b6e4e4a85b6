import { readFileSync } from 'node:fs';
import type { KubeObject, ObjectMeta } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { type Action, isInCircle, type ObservedGarbage, type ObservedOwner, planGarbage } from './plan.ts';

interface Case {
  readonly name: string;
  readonly deleting?: boolean;
  readonly finalizers?: readonly string[];
  /** The states of the owners, by uid. */
  readonly owners?: Readonly<Record<string, ObservedOwner['state']>>;
  readonly dependents?: readonly ('blocking' | 'free')[];
  readonly deadlock?: ObservedGarbage['deadlock'];
  readonly looksAgain?: boolean;
  readonly want: readonly string[];
}

const CASES = JSON.parse(readFileSync(new URL('cases.json', import.meta.url), 'utf8')) as readonly Case[];
const DELETING = { deletionTimestamp: '2026-01-01T00:00:00Z' };

function object(metadata: Partial<ObjectMeta> = {}): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'o', namespace: 'a', uid: 'self', ...metadata } };
}

function dependent(blockOwnerDeletion: boolean): KubeObject {
  const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: 'self', blockOwnerDeletion }];
  return object({ name: 'd', uid: 'd', ownerReferences });
}

function describeAction(action: Action): string {
  switch (action.kind) {
    case 'delete':
      return `delete ${action.propagation}`;
    case 'dropOwners':
      return `dropOwners ${action.uids.join()}`;
    case 'orphan':
    case 'enqueue':
      return `${action.kind} ${action.dependent.metadata.name ?? ''}`;
    case 'removeFinalizer':
      return `removeFinalizer ${action.finalizer}`;
    case 'unblockOwners':
      return 'unblockOwners';
  }
}

describe('planning garbage', () => {
  it.each(CASES)('$name', (one) => {
    const { owners = {}, dependents = [], deadlock = 'none', deleting = false, finalizers = [] } = one;
    const observed: ObservedGarbage = {
      object: object({ ...(deleting ? DELETING : {}), finalizers: [...finalizers] }),
      owners: Object.entries(owners).map(([uid, state]) => ({
        reference: { apiVersion: 'v1', kind: 'ConfigMap', name: uid, uid },
        state,
      })),
      dependents: dependents.map((kind) => dependent(kind === 'blocking')),
      deadlock,
    };
    const { actions, requeueAt } = planGarbage(observed, 0);
    expect(actions.map(describeAction)).toEqual(one.want);
    expect(requeueAt !== undefined).toBe(one.looksAgain ?? false);
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
