import { describe, expect, it } from 'vitest';
import { planAssignments } from '../plan.ts';
import { createPodInfo } from './pod-info.ts';
import { SnapshotKeeper } from './snapshot.ts';
import { apart, exampleTerm } from '../testing/affinity-examples.ts';
import { exampleNode, examplePod } from '../testing/examples.ts';

function cpuOn(keeper: SnapshotKeeper, name: string): number {
  return keeper.node(name)?.requested['cpu'] ?? 0;
}

describe('a snapshot keeper', () => {
  it('returns the same snapshot without changes, and never changes a returned one', () => {
    const keeper = new SnapshotKeeper();
    keeper.setNode(exampleNode('a'));
    const before = keeper.snapshot();
    expect(keeper.snapshot()).toBe(before);
    keeper.setPod(examplePod('p', { cpu: '1', node: 'a' }));
    expect(before.nodes[0]?.pods.size).toBe(0);
    expect(keeper.snapshot().nodes[0]?.pods.size).toBe(1);
    keeper.setNamespace('default', { team: 'own' });
    const named = keeper.snapshot();
    keeper.setNamespace('default', undefined);
    expect([before, named, keeper.snapshot()].map(({ namespaces }) => namespaces.get('default'))).toEqual([
      undefined,
      { team: 'own' },
      undefined,
    ]);
  });

  it('never changes a returned snapshot by several changes of one node, nor by a decision', () => {
    const keeper = new SnapshotKeeper();
    keeper.setNode(exampleNode('a'));
    const place = (name: string) =>
      keeper.assume(createPodInfo(examplePod(name, { cpu: '100m', spec: { affinity: apart(exampleTerm('x')) } })), 'a');
    place('one');
    place('two');
    const before = keeper.snapshot();
    const see = ({ nodes: [node] }: typeof before) => [
      [...(node?.pods.keys() ?? [])],
      [...(node?.withTerms.keys() ?? [])],
      node?.requested['cpu'],
      node?.ranked.cpu,
    ];
    const keys = ['default/one', 'default/two'];
    expect(see(before)).toEqual([keys, keys, 200, 200]);
    planAssignments(before, [createPodInfo(examplePod('planned')), createPodInfo(examplePod('another'))], 1);
    place('three');
    keeper.removePod('default/one');
    place('four');
    expect(see(before)).toEqual([keys, keys, 200, 200]);
    const left = ['default/two', 'default/three', 'default/four'];
    expect(see(keeper.snapshot())).toEqual([left, left, 300, 300]);
  });

  it('knows the pods with terms about others of each node', () => {
    const keeper = new SnapshotKeeper();
    keeper.setNode(exampleNode('a'));
    const plain = examplePod('plain', { node: 'a' });
    const loner = examplePod('loner', { node: 'a', spec: { affinity: apart(exampleTerm('x')) } });
    for (const pod of [plain, loner]) keeper.setPod(pod);
    const withTerms = () => [...(keeper.node('a')?.withTerms.keys() ?? [])];
    expect(withTerms()).toEqual(['default/loner']);
    keeper.removePod('default/plain');
    expect(withTerms()).toEqual(['default/loner']);
    keeper.removePod('default/loner');
    expect(withTerms()).toEqual([]);
  });

  it('counts pods on a node that is added after them', () => {
    const keeper = new SnapshotKeeper();
    keeper.setPod(examplePod('p', { cpu: '1', node: 'a' }));
    keeper.setNode(exampleNode('a'));
    expect(cpuOn(keeper, 'a')).toBe(1000);
    keeper.removeNode('a');
    keeper.setNode(exampleNode('a'));
    expect(cpuOn(keeper, 'a')).toBe(1000);
  });

  it('frees the resources of finished and deleted pods', () => {
    const keeper = new SnapshotKeeper();
    keeper.setNode(exampleNode('a'));
    const [one, two] = [examplePod('one', { cpu: '1', node: 'a' }), examplePod('two', { cpu: '1', node: 'a' })];
    keeper.setPod(one);
    keeper.setPod(two);
    keeper.setPod({ ...one, status: { phase: 'Succeeded' } });
    expect(cpuOn(keeper, 'a')).toBe(1000);
    keeper.removePod('default/two');
    expect(cpuOn(keeper, 'a')).toBe(0);
  });

  it('counts an assumed pod until the cache shows its node, or it is forgotten', () => {
    const keeper = new SnapshotKeeper();
    keeper.setNode(exampleNode('a'));
    keeper.setNode(exampleNode('b'));
    const info = createPodInfo(examplePod('p', { cpu: '1' }));
    keeper.assume(info, 'a');
    keeper.setPod(examplePod('p', { cpu: '1' }));
    expect(cpuOn(keeper, 'a')).toBe(1000);
    keeper.setPod(examplePod('p', { cpu: '1', node: 'b' }));
    expect([cpuOn(keeper, 'a'), cpuOn(keeper, 'b')]).toEqual([0, 1000]);
    keeper.forget(info);
    expect(cpuOn(keeper, 'b')).toBe(1000);
    const other = createPodInfo(examplePod('q', { cpu: '1' }));
    keeper.assume(other, 'a');
    keeper.forget(other);
    expect(cpuOn(keeper, 'a')).toBe(0);
  });
});
