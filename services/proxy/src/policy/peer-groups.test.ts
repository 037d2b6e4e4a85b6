import { labelSelectorFrom } from '@gantry/objects';
import { expect, test } from 'vitest';
import type { PeerGroup } from './parse-policy.ts';
import { PeerGroups, type Work } from './peer-groups.ts';
import { NO_POLICIES, type Subject } from './subject.ts';

function subject(name: string): Subject {
  const member = { key: name, namespace: 'crowd', labels: {}, address: '', node: '', ports: [] };
  return { member, selection: NO_POLICIES, groups: new Set() };
}

/** Returns a group with all pods of the namespace `crowd`, under its own name. */
function group(id: string, terms = 1): PeerGroup {
  return { id, peers: [{ namespace: 'crowd', pods: labelSelectorFrom({}), terms }], terms };
}

/** Does all work of a generator. Returns its result and the amount of work. */
function finish<T>(work: Work<T>): { readonly value: T; readonly terms: number } {
  for (let terms = 0; ; ) {
    const next = work.next();
    if (next.done === true) return { value: next.value, terms };
    terms += next.value;
  }
}

function start(pods: number, maxMembers: number) {
  const subjects = Array.from({ length: pods }, (_, i) => subject(`p-${i}`));
  const changed: string[] = [];
  const made: string[] = [];
  const groups = new PeerGroups(
    (namespace) => (namespace === 'crowd' ? subjects : []),
    ({ member }) => changed.push(member.key),
    maxMembers,
  );
  const size = (id: string) => subjects.filter((one) => [...one.groups].some((used) => used.id === id)).length;
  const acquire = (used: PeerGroup, user: string) => finish(groups.acquire(used, user, () => made.push(used.id)));
  return { groups, subjects, changed, made, size, acquire };
}

test('a namespace whose policies name too many pods leaves room for those of others', () => {
  const { groups, size, acquire } = start(20, 50);
  for (const id of ['a', 'b', 'c']) acquire(group(id), 'greedy');
  expect(['a', 'b', 'c'].map(size)).toEqual([20, 20, 10]);
  expect(groups.countShort()).toBe(1);
  acquire(group('d'), 'modest');
  expect(size('d')).toBe(20);
  // Free room is used immediately.
  expect(finish(groups.release(group('a'), 'greedy')).value).toBe(true);
  expect(['a', 'b', 'c'].map(size)).toEqual([0, 20, 20]);
  expect(groups.countShort()).toBe(0);
});

test('a set that several namespaces use is counted to one that has room', () => {
  const { groups, size, acquire } = start(20, 50);
  for (const id of ['a', 'b']) acquire(group(id), 'greedy');
  acquire(group('c'), 'greedy');
  acquire(group('c'), 'modest');
  expect(size('c')).toBe(10);
  finish(groups.release(group('a'), 'greedy'));
  acquire(group('e'), 'greedy');
  expect(['b', 'c', 'e'].map(size)).toEqual([20, 20, 10]);
  // The last namespace that uses a set keeps it, and the set counts for that namespace.
  expect(finish(groups.release(group('c'), 'greedy')).value).toBe(false);
  expect(size('c')).toBe(20);
  acquire(group('f'), 'greedy');
  expect(size('f') + size('e') + size('b')).toBe(50);
});

test('a pod that is gone leaves its room', () => {
  const { groups, subjects, size, acquire } = start(20, 30);
  for (const id of ['a', 'b']) acquire(group(id), 'greedy');
  expect(size('b')).toBe(10);
  for (const one of subjects.splice(0, 5)) groups.remove(one);
  for (const one of subjects) finish(groups.place(one));
  expect([size('a'), size('b')]).toEqual([15, 15]);
});

test('work says how much it is, and a pod is compared with the groups that may concern it alone', () => {
  const { groups, subjects, changed, acquire } = start(20, 1000);
  for (let i = 0; i < 100; i++) {
    const peers = [{ namespace: `other-${i}`, pods: labelSelectorFrom({}), terms: 1 }];
    acquire({ id: `other-${i}`, peers, terms: 1 }, 'user');
  }
  expect(acquire(group('a', 700), 'user').terms).toBeGreaterThanOrEqual(20 * 700);
  expect(changed).toHaveLength(20);
  expect(finish(groups.place(subjects[0] ?? subject('none'))).terms).toBe(700);
});

test('a set is made with the first namespace that uses it, before it has members', () => {
  const { groups, made, size, acquire } = start(20, 1000);
  const work = groups.acquire(group('a'), 'one', () => made.push(`a has ${size('a')}`));
  work.next();
  expect(made).toEqual(['a has 0']);
  finish(work);
  acquire(group('a'), 'other');
  expect(made).toHaveLength(1);
});

test('room that one namespace gets is no work for others', () => {
  const { groups, acquire, size } = start(20, 30);
  for (const id of ['a', 'b']) acquire(group(id), 'one');
  for (const id of ['c', 'd']) acquire(group(id, 50), 'other');
  expect(['a', 'b', 'c', 'd'].map(size)).toEqual([20, 10, 20, 10]);
  expect(finish(groups.release(group('a'), 'one')).terms).toBeLessThan(20 * 50);
  expect(['a', 'b', 'c', 'd'].map(size)).toEqual([0, 20, 20, 10]);
});
