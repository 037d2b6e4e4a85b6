import { describe, expect, it } from 'vitest';
import { type Dependent, dependentsOf } from './dependents.ts';

const one = (uid: string, ...owners: string[]): Dependent => ({
  kindId: 'pods',
  kind: 'Pod',
  metadata: {
    uid,
    name: uid,
    ownerReferences: owners.map((owner) => ({ apiVersion: 'v1', kind: 'X', name: owner, uid: owner })),
  },
});
const found = (uid: string, ...all: Dependent[]) => dependentsOf(uid, all).map(({ metadata }) => metadata.name);

describe('dependentsOf', () => {
  it('finds what is owned, and what that owns', () => {
    expect(found('d', one('p2', 'rs'), one('rs', 'd'), one('p1', 'rs'), one('other', 'x'))).toEqual(['rs', 'p2', 'p1']);
  });

  it('leaves what another owner keeps', () => {
    expect(found('a', one('shared', 'a', 'b'))).toEqual([]);
  });

  it('takes what has two owners that both go', () => {
    expect(found('a', one('b', 'a'), one('shared', 'a', 'b'))).toEqual(['b', 'shared']);
  });

  it('ends with owners in a circle', () => {
    expect(found('a', one('b', 'a'), one('a', 'b'))).toEqual(['b']);
  });
});
