import type { Pod } from '@gantry/objects';
import { beforeEach, expect, it } from 'vitest';
import { pod } from '../testing/pods.ts';
import { PodsByNode } from './pods-by-node.ts';

const pods = new Map<string, Pod>();
let notify: (uid: string) => void;
let byNode: PodsByNode;

const put = (uid: string, nodeName: string, resourceVersion = '1') => {
  pods.set(uid, pod({ nodeName }, {}, { uid, resourceVersion }));
  notify(uid);
};
const remove = (uid: string) => {
  pods.delete(uid);
  notify(uid);
};
const uids = (node: string) =>
  byNode
    .of(node)
    .list()
    .map(({ metadata }) => metadata.uid);

beforeEach(() => {
  pods.clear();
  pods.set('early', pod({ nodeName: 'a' }, {}, { uid: 'early' }));
  notify = () => undefined;
  const source = {
    get: (uid: string) => pods.get(uid),
    list: () => [...pods.values()],
    subscribe: (listener: (uid: string) => void) => {
      notify = listener;
      return () => undefined;
    },
  };
  byNode = new PodsByNode(source, (one) => ({ ...one, status: { phase: 'shown' } }));
});

it('shows each node its own pods, those from before it was asked for too', () => {
  put('1', 'a');
  put('2', 'b');
  expect(uids('a')).toEqual(['early', '1']);
  expect(uids('b')).toEqual(['2']);
  expect(byNode.of('a').get('2')).toBeUndefined();
});

it('notifies the node of a pod alone, and of its removal too', () => {
  const heard: string[] = [];
  const stop = byNode.of('a').subscribe((uid) => heard.push(`a ${uid}`));
  byNode.of('b').subscribe((uid) => heard.push(`b ${uid}`));
  put('1', 'a');
  put('2', 'b');
  remove('1');
  stop();
  put('3', 'a');
  expect(heard).toEqual(['a 1', 'b 2', 'a 1']);
  expect(uids('a')).toEqual(['early', '3']);
});

it('shows one version of a pod as one object: a worker takes another object for another version', () => {
  put('1', 'a');
  const first = byNode.of('a').get('1');
  expect(first?.status?.phase).toBe('shown');
  expect(byNode.of('a').get('1')).toBe(first);
  put('1', 'a', '2');
  expect(byNode.of('a').get('1')).not.toBe(first);
});
