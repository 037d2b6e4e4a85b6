import type { DaemonSet, Node, Pod } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { isRelevant, setsOfChangedNode, setsOfLostNode } from './node-changes.ts';
import { daemonPodMaker, placementOf } from './placement.ts';
import { exampleNode, exampleSet } from './testing/world.ts';

type Sets = Record<'plain' | 'picky', DaemonSet>;

const OLD = exampleNode('a');
const LOST = exampleNode('a');

function podOf(set: DaemonSet, phase: string, nodeName?: string): Pod {
  const pod = daemonPodMaker(set, 'h')('a');
  return {
    ...pod,
    spec: { containers: [], ...pod.spec, ...(nodeName === undefined ? {} : { nodeName }) },
    status: { phase },
  };
}

/** The sets that are queued after a change of node `a`. `picky` needs a label, `plain` does not. */
function queued(node: Node, old: Node | undefined, pods: (sets: Sets) => Pod[], misplaced = 0) {
  const plain = named('plain', {}, misplaced);
  const picky = named('picky', { on: 'yes' }, misplaced);
  const all = pods({ plain, picky });
  const around = {
    sets: [plain, picky],
    placement: (set: DaemonSet, of: Node) => placementOf(set)(of),
    bound: all.filter(({ spec }) => spec?.nodeName === 'a'),
    unbound: () => all.filter(({ spec }) => spec?.nodeName === undefined),
  };
  const keys = node === LOST ? setsOfLostNode(old ?? node, around) : setsOfChangedNode(node, old, around);
  return keys.map(({ name }) => name);
}

function named(name: string, nodeSelector: Record<string, string>, numberMisscheduled: number): DaemonSet {
  const template = { metadata: { labels: { app: 'a' } }, spec: { containers: [], nodeSelector } };
  const set = exampleSet({ template });
  const status = { numberMisscheduled, currentNumberScheduled: 0, desiredNumberScheduled: 0, numberReady: 0 };
  return { ...set, metadata: { ...set.metadata, name, uid: name }, status };
}

describe('a change of a node queues', () => {
  it('nothing unless labels or taints change', () => {
    expect(isRelevant({ ...OLD, status: { phase: 'Running' } }, OLD)).toBe(false);
    expect(isRelevant(exampleNode('a', { l: 'v' }), OLD)).toBe(true);
    expect(isRelevant(exampleNode('a', {}, [{ key: 'k', effect: 'NoSchedule' }]), OLD)).toBe(true);
    expect(isRelevant(OLD, undefined)).toBe(true);
  });

  it('sets that lack a pod there', () => {
    expect(queued(exampleNode('a', { on: 'yes' }), OLD, () => [])).toEqual(['plain', 'picky']);
    expect(queued(OLD, undefined, () => [])).toEqual(['plain']);
    expect(queued(OLD, undefined, ({ plain }) => [podOf(plain, 'Running', 'a')])).toEqual([]);
  });

  it('sets with a pod that must not be there', () => {
    const bound = ({ plain }: Sets) => [podOf(plain, 'Running', 'a')];
    const tainted = exampleNode('a', {}, [{ key: 'k', effect: 'NoExecute' }]);
    expect(queued(tainted, undefined, bound)).toEqual(['plain']);
    expect(queued(exampleNode('a', {}, [{ key: 'k', effect: 'NoSchedule' }]), undefined, bound)).toEqual([]);
  });

  it('sets with a pod there that count misplaced pods', () => {
    const bound = ({ plain }: Sets) => [podOf(plain, 'Running', 'a')];
    expect(queued(OLD, exampleNode('a', { l: 'v' }), bound, 1)).toEqual(['plain']);
    expect(queued(OLD, exampleNode('a', { l: 'v' }), bound)).toEqual([]);
  });

  it('sets whose place there changes, but for those with a pod that runs without being bound', () => {
    const labelled = exampleNode('a', { on: 'yes' });
    const waiting = ({ plain, picky }: Sets) => [podOf(plain, 'Running', 'a'), podOf(picky, 'Pending')];
    const stray = ({ plain, picky }: Sets) => [podOf(plain, 'Running', 'a'), podOf(picky, 'Running')];
    expect(queued(OLD, labelled, waiting)).toEqual(['picky']);
    expect(queued(OLD, labelled, stray)).toEqual([]);
    const soft = exampleNode('a', {}, [{ key: 'k', effect: 'NoSchedule' }]);
    expect(queued(soft, OLD, ({ plain }) => [podOf(plain, 'Running', 'a')])).toEqual(['plain']);
  });

  it('sets that had a place on a node that is gone', () => {
    expect(queued(LOST, OLD, () => [])).toEqual(['plain']);
    expect(queued(LOST, OLD, ({ plain }) => [podOf(plain, 'Running')])).toEqual([]);
  });
});
