import { labelSelectorFrom } from '@gantry/objects';
import { expect, test } from 'vitest';
import type { PeerGroup } from './parse-policy.ts';
import { PeerGroups } from './peer-groups.ts';
import { NO_POLICIES, type Subject } from './subject.ts';

function subject(name: string): Subject {
  const member = { key: name, namespace: 'crowd', labels: {}, address: '', nodeAddress: '', ports: [] };
  return { member, selection: NO_POLICIES, groups: new Set() };
}

/** All pods of the namespace `crowd`, under a name of its own. */
function group(id: string): PeerGroup {
  return { id, peers: [{ namespace: 'crowd', pods: labelSelectorFrom({}) }] };
}

/** Does all of a generator's work; gives what it returns and how many steps it took. */
function finish<T>(work: Generator<void, T>): { readonly value: T; readonly steps: number } {
  for (let steps = 0; ; steps++) {
    const next = work.next();
    if (next.done === true) return { value: next.value, steps };
  }
}

function start(pods: number, maxMembers: number) {
  const subjects = Array.from({ length: pods }, (_, i) => subject(`p-${i}`));
  const changed: string[] = [];
  const groups = new PeerGroups(
    (namespace) => (namespace === 'crowd' ? subjects : []),
    ({ member }) => changed.push(member.key),
    maxMembers,
  );
  const size = (id: string) => subjects.filter((one) => [...one.groups].some((used) => used.id === id)).length;
  return { groups, subjects, changed, size };
}

test('a namespace whose policies name too many pods leaves room for those of others', () => {
  const { groups, size } = start(20, 50);
  for (const id of ['a', 'b', 'c']) finish(groups.acquire(group(id), 'greedy'));
  expect(['a', 'b', 'c'].map(size)).toEqual([20, 20, 10]);
  expect(groups.countShort()).toBe(1);
  finish(groups.acquire(group('d'), 'modest'));
  expect(size('d')).toBe(20);
  // Room is used as soon as there is some.
  expect(finish(groups.release(group('a'), 'greedy')).value).toBe(true);
  expect(['a', 'b', 'c'].map(size)).toEqual([0, 20, 20]);
  expect(groups.countShort()).toBe(0);
});

test('a set that several namespaces use is counted to one that has room', () => {
  const { groups, size } = start(20, 50);
  for (const id of ['a', 'b']) finish(groups.acquire(group(id), 'greedy'));
  finish(groups.acquire(group('c'), 'greedy'));
  finish(groups.acquire(group('c'), 'modest'));
  expect(size('c')).toBe(10);
  finish(groups.release(group('a'), 'greedy'));
  finish(groups.acquire(group('e'), 'greedy'));
  expect(['b', 'c', 'e'].map(size)).toEqual([20, 20, 10]);
  // The last namespace that uses a set keeps it, and pays for it.
  expect(finish(groups.release(group('c'), 'greedy')).value).toBe(false);
  expect(size('c')).toBe(20);
  finish(groups.acquire(group('f'), 'greedy'));
  expect(size('f') + size('e') + size('b')).toBe(50);
});

test('a pod that is gone leaves its room', () => {
  const { groups, subjects, size } = start(20, 30);
  for (const id of ['a', 'b']) finish(groups.acquire(group(id), 'greedy'));
  expect(size('b')).toBe(10);
  for (const one of subjects.splice(0, 5)) groups.remove(one);
  for (const one of subjects) finish(groups.place(one));
  expect([size('a'), size('b')]).toEqual([15, 15]);
});

test('work yields after each comparison, and a pod is compared with the groups that may concern it alone', () => {
  const { groups, subjects, changed } = start(20, 1000);
  for (let i = 0; i < 100; i++) {
    const peers = [{ namespace: `other-${i}`, pods: labelSelectorFrom({}) }];
    finish(groups.acquire({ id: `other-${i}`, peers }, 'user'));
  }
  expect(finish(groups.acquire(group('a'), 'user')).steps).toBeGreaterThanOrEqual(20);
  expect(changed).toHaveLength(20);
  expect(finish(groups.place(subjects[0] ?? subject('none'))).steps).toBe(1);
});
