import { expect, it } from 'vitest';
import { LABEL } from '../runtime/labels.ts';
import { type ListedContainer, ContainerIndex } from './container-index.ts';

const OWNER = { cluster: 'c', node: 'node-a' };
const of = (id: string, uid = 'uid-1', node = 'node-a'): ListedContainer => ({
  id,
  labels: { [LABEL.cluster]: 'c', [LABEL.node]: node, [LABEL.podUid]: uid },
});

function listed(pods: ContainerIndex, ...containers: ListedContainer[]): void {
  using list = pods.beginList(OWNER);
  list.end(containers);
}

it('knows the containers of pods from a list and what has come and gone since', () => {
  const pods = new ContainerIndex();
  using _ = pods.follow();
  expect(pods.find(OWNER, 'uid-1')).toBeUndefined();
  listed(pods, of('a'), of('b'), of('c', 'uid-2'));
  expect(pods.find(OWNER, 'uid-1')).toEqual(['a', 'b']);
  pods.came(of('d'));
  pods.came(of('d'));
  pods.went(of('a'));
  expect(pods.find(OWNER, 'uid-1')).toEqual(['b', 'd']);
  expect(pods.find(OWNER, 'uid-2')).toEqual(['c']);
  pods.went(of('c', 'uid-2'));
  expect(pods.find(OWNER, 'uid-2')).toEqual([]);
  // A container without a pod.
  pods.came({ id: 'e', labels: { [LABEL.cluster]: 'c', [LABEL.node]: 'node-a' } });
  expect(pods.find(OWNER, '')).toEqual([]);
});

it('knows a node alone that was listed, and no containers of another one', () => {
  const pods = new ContainerIndex();
  using _ = pods.follow();
  listed(pods, of('a'));
  pods.came(of('b', 'uid-1', 'node-b'));
  expect(pods.find(OWNER, 'uid-1')).toEqual(['a']);
  expect(pods.find({ ...OWNER, node: 'node-b' }, 'uid-1')).toBeUndefined();
  expect(pods.find({ ...OWNER, cluster: 'd' }, 'uid-1')).toBeUndefined();
});

it('counts what came and went while the engine answered, whether or not its answer has it', () => {
  const pods = new ContainerIndex();
  using _ = pods.follow();
  using list = pods.beginList(OWNER);
  pods.came(of('a'));
  pods.went(of('b'));
  pods.came(of('c', 'uid-1', 'node-b'));
  list.end([of('b'), of('d')]);
  expect(pods.find(OWNER, 'uid-1')).toEqual(['d', 'a']);
});

it('takes the answer to a later list for what is there', () => {
  const pods = new ContainerIndex();
  using _ = pods.follow();
  listed(pods, of('a'), of('b'));
  listed(pods, of('b'));
  expect(pods.find(OWNER, 'uid-1')).toEqual(['b']);
});

it('knows nothing while events are not followed, nor by a list that began then', () => {
  const pods = new ContainerIndex();
  listed(pods, of('a'));
  expect(pods.find(OWNER, 'uid-1')).toBeUndefined();
  using early = pods.beginList(OWNER);
  using first = pods.follow();
  early.end([of('a')]);
  expect(pods.find(OWNER, 'uid-1')).toBeUndefined();
  listed(pods, of('a'));
  first[Symbol.dispose]();
  expect(pods.find(OWNER, 'uid-1')).toBeUndefined();
  listed(pods, of('a'));
  expect(pods.find(OWNER, 'uid-1')).toBeUndefined();
});

it('knows what it did when others begin to follow events, too, and nothing once one of them ends', () => {
  const pods = new ContainerIndex();
  using _ = pods.follow();
  listed(pods, of('a'));
  const other = pods.follow();
  expect(pods.find(OWNER, 'uid-1')).toEqual(['a']);
  other[Symbol.dispose]();
  expect(pods.find(OWNER, 'uid-1')).toBeUndefined();
});

it('knows nothing by a list during which events were not followed for a while', () => {
  const pods = new ContainerIndex();
  const before = pods.follow();
  using list = pods.beginList(OWNER);
  before[Symbol.dispose]();
  using _ = pods.follow();
  list.end([of('a')]);
  expect(pods.find(OWNER, 'uid-1')).toBeUndefined();
});
