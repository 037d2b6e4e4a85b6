import type { Pod, TopologySpreadConstraint } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import type { ClusterChange } from '../../framework/plugin.ts';
import { createPodInfo } from '../../framework/pod-info.ts';
import type { NodeInfo } from '../../framework/node-info.ts';
import { SpreadCounts } from '../../framework/spread-counts.ts';
import { planAssignments } from '../../plan.ts';
import { exampleNode, examplePod, exampleSnapshot } from '../../testing/examples.ts';
import { spreadBy } from '../../testing/spread-examples.ts';
import { topologySpread } from './topology-spread.ts';

const UNEVEN = ["node(s) didn't match pod topology spread constraints"];
const UNLABELLED = ["node(s) didn't match pod topology spread constraints (missing required label)"];

/** Two nodes in zone a, one in zone b, one in zone c that has a taint, and one without labels. */
const NODES = [
  exampleNode('a1', { labels: { zone: 'a', host: 'a1', disk: 'ssd' } }),
  exampleNode('a2', { labels: { zone: 'a', host: 'a2' } }),
  exampleNode('b1', { labels: { zone: 'b', host: 'b1', disk: 'ssd' } }),
  exampleNode('c1', { labels: { zone: 'c', host: 'c1' }, taints: [{ key: 'own', effect: 'NoSchedule' }] }),
  exampleNode('none'),
];

/** Running pods with the label `app: web`, one on each of these nodes. */
const web = (...nodes: readonly string[]) =>
  nodes.map((node, i) => examplePod(`web-${i}`, { node, labels: { app: 'web' } }));

const waiting = (constraints: readonly TopologySpreadConstraint[], more: Partial<Pod['spec']> = {}, app = 'web') =>
  examplePod('p', { labels: { app }, spec: { topologySpreadConstraints: [...constraints], ...more } });

/** The reasons against each node. */
function reasons(pod: Pod, running: readonly Pod[]): Readonly<Record<string, readonly string[]>> {
  const { nodes } = exampleSnapshot(NODES, running);
  const known = new SpreadCounts().withSpreading(createPodInfo(pod), nodes, new Map());
  return Object.fromEntries(nodes.map((node) => [node.name, topologySpread.filter(known, node)]));
}

const zone = (more: Partial<TopologySpreadConstraint> = {}) => spreadBy('zone', more);

describe('nodes for a pod with constraints that say DoNotSchedule', () => {
  it.each<readonly [string, Pod, readonly Pod[], readonly string[]]>([
    ['the fewest are in zones b and c', waiting([zone()]), web('a1'), ['b1', 'c1']],
    ['a zone may be ahead by maxSkew', waiting([zone({ maxSkew: 2 })]), web('a1'), ['a1', 'a2', 'b1', 'c1']],
    ['zone c has the fewest', waiting([zone()]), web('a1', 'b1'), ['c1']],
    ['all zones have as many', waiting([zone()]), web('a1', 'b1', 'c1'), ['a1', 'a2', 'b1', 'c1']],
    ['a pod that it does not select adds nothing', waiting([zone()], {}, 'other'), web('a1'), ['a1', 'a2', 'b1', 'c1']],
    ['such a pod stays out of zones that are ahead', waiting([zone()], {}, 'other'), web('a1', 'a1'), ['b1', 'c1']],
    [
      'without a selector no pod counts',
      waiting([zone({ labelSelector: undefined })]),
      web('a1', 'a1', 'a2'),
      ['a1', 'a2', 'b1', 'c1'],
    ],
    [
      'an empty selector selects the pod, and counts none',
      waiting([zone({ labelSelector: {} })]),
      web('a1', 'a1', 'c1'),
      ['a1', 'a2', 'b1', 'c1'],
    ],
    [
      'pods of other namespaces do not count',
      waiting([zone()]),
      [examplePod('w', { node: 'a1', labels: { app: 'web' }, namespace: 'other' })],
      ['a1', 'a2', 'b1', 'c1'],
    ],
    [
      'pods that terminate do not count',
      waiting([zone()]),
      web('a1', 'a2').map((pod) => ({
        ...pod,
        metadata: { ...pod.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
      })),
      ['a1', 'a2', 'b1', 'c1'],
    ],
    ['both constraints have to hold', waiting([zone(), spreadBy('host')]), web('a1', 'b1', 'c1'), ['a2']],
    [
      'a zone whose nodes have taints that are honoured is none',
      waiting([zone({ nodeTaintsPolicy: 'Honor' })]),
      web('a1', 'b1'),
      ['a1', 'a2', 'b1', 'c1'],
    ],
    [
      'taints that are tolerated do not matter',
      waiting([zone({ nodeTaintsPolicy: 'Honor' })], { tolerations: [{ key: 'own', operator: 'Exists' }] }),
      web('a1', 'b1'),
      ['c1'],
    ],
    [
      'nodes that the selector of nodes excludes make no zone',
      waiting([zone()], { nodeSelector: { disk: 'ssd' } }),
      web('a1', 'b1'),
      ['a1', 'a2', 'b1', 'c1'],
    ],
    [
      'their pods do not count',
      waiting([zone()], { nodeSelector: { disk: 'ssd' } }),
      web('a2', 'a2', 'b1'),
      ['a1', 'a2', 'c1'],
    ],
    [
      'unless affinity is ignored',
      waiting([zone({ nodeAffinityPolicy: 'Ignore' })], { nodeSelector: { disk: 'ssd' } }),
      web('a1', 'b1'),
      ['c1'],
    ],
    [
      'with fewer domains than minDomains the fewest are none',
      waiting([zone({ minDomains: 4 })]),
      web('a1', 'b1', 'c1'),
      [],
    ],
    [
      'with as many they are what they are',
      waiting([zone({ minDomains: 3 })]),
      web('a1', 'b1', 'c1'),
      ['a1', 'a2', 'b1', 'c1'],
    ],
  ])('%s', (_, pod, running, allowed) => {
    const found = reasons(pod, running);
    const { none, ...labelled } = found;
    expect(Object.entries(labelled).flatMap(([name, against]) => (against.length === 0 ? [name] : []))).toEqual(
      allowed,
    );
    expect(none).toEqual(UNLABELLED);
    for (const against of Object.values(labelled)) if (against.length > 0) expect(against).toEqual(UNEVEN);
  });

  it('the first constraint that does not hold gives the reason', () => {
    expect(reasons(waiting([zone(), spreadBy('rack')]), web('a1'))).toMatchObject({ a1: UNLABELLED, b1: UNLABELLED });
    // Nodes that lack one of the labels form no domain for the others.
    const both = reasons(waiting([zone(), spreadBy('disk')]), web('a2', 'a2', 'b1'));
    expect(both).toMatchObject({ a1: [], a2: UNLABELLED, b1: UNEVEN });
  });

  it('a constraint that says ScheduleAnyway excludes none', () => {
    const found = reasons(waiting([zone({ whenUnsatisfiable: 'ScheduleAnyway' })]), web('a1', 'a1'));
    expect(Object.values(found).flat()).toEqual([]);
  });

  it('only what other pods take is cured by room, and only where no label is missed before', () => {
    const { nodes } = exampleSnapshot(NODES, web('a1', 'a1'));
    const cured = (...constraints: TopologySpreadConstraint[]) => {
      const known = new SpreadCounts().withSpreading(createPodInfo(waiting(constraints)), nodes, new Map());
      return nodes.filter((node) => topologySpread.curedByRoom?.(known, node)).map(({ name }) => name);
    };
    expect(cured(zone({ minDomains: 4 }))).toEqual(['a1', 'a2']);
    expect(cured(spreadBy('rack'), zone())).toEqual([]);
  });
});

it('pods of one cycle count for each other', () => {
  const pods = Array.from({ length: 6 }, (_, i) => ({
    ...waiting([zone()], { tolerations: [{ key: 'own', operator: 'Exists' }] }),
    metadata: { name: `p${i}`, namespace: 'default', uid: `${i}`, labels: { app: 'web' } },
  }));
  const decisions = planAssignments(exampleSnapshot(NODES, []), pods.map(createPodInfo), 3);
  const zones = decisions.map((decision) =>
    decision.kind === 'assign' ? decision.nodeName.slice(0, 1) : decision.kind,
  );
  expect([new Set(zones.slice(0, 3)).size, new Set(zones.slice(3)).size]).toEqual([3, 3]);
});

describe('a pod of high priority that would be ahead in its zone', () => {
  const nodes = NODES.slice(0, 3);
  const lowly = (...on: readonly string[]) =>
    web(...on).map((pod) => ({ ...pod, spec: { containers: [], ...pod.spec, priority: 0 } }));
  const pod = waiting([zone({ nodeAffinityPolicy: 'Ignore' })], { priority: 100, nodeSelector: { zone: 'a' } });
  const plan = (...on: readonly string[]) =>
    planAssignments(exampleSnapshot(nodes, lowly(...on)), [createPodInfo(pod)], 1)[0];

  it('takes the place of pods of one node, as many as have to go', () => {
    expect(plan('a1')).toMatchObject({ preemption: { kind: 'possible', nodeName: 'a1', victims: [{}] } });
    expect(plan('a1', 'a1')).toMatchObject({ preemption: { kind: 'possible', nodeName: 'a1', victims: [{}, {}] } });
    expect(plan('a1', 'a1', 'b1')).toMatchObject({ preemption: { kind: 'possible', nodeName: 'a1', victims: [{}] } });
  });

  it('evicts none where those of one node are not enough', () => {
    expect(plan('a1', 'a2')).toMatchObject({ kind: 'refuse', preemption: { kind: 'none' } });
  });
});

it('refuses a pod with more constraints than are counted', () => {
  const constraints = Array.from({ length: 101 }, (_, i) => spreadBy(`key-${i}`));
  const [decision] = planAssignments(exampleSnapshot(NODES), [createPodInfo(waiting(constraints))], 1);
  const message = expect.stringContaining('pod has 101 topology spread constraints, more than 100') as string;
  expect(decision).toMatchObject({ kind: 'refuse', message });
  // The same holds for a pod that is nominated to a node and compared only with that node.
  const nominated = { ...waiting(constraints), status: { nominatedNodeName: 'a1' } };
  const [again] = planAssignments(exampleSnapshot(NODES, [nominated]), [createPodInfo(nominated)], 1);
  expect(again).toMatchObject({ kind: 'refuse', message });
});

describe('changes that may help a refused pod', () => {
  const info = createPodInfo(waiting([zone()]));
  const [a1, , , c1, none] = exampleSnapshot(NODES).nodes as [NodeInfo, NodeInfo, NodeInfo, NodeInfo, NodeInfo];
  const other = (app: string, namespace = 'default') =>
    createPodInfo(examplePod('o', { node: 'a1', labels: { app }, namespace }));
  const changed = (node: NodeInfo, labels: Record<string, string>): ClusterChange => ({
    kind: 'node-changed',
    node: { ...node, node: { ...node.node, metadata: { ...node.node.metadata, labels } } },
    old: node,
  });
  it.each<readonly [string, ClusterChange, boolean]>([
    ['a selected pod gets a node', { kind: 'pod-placed', pod: other('web') }, true],
    ['another one does', { kind: 'pod-placed', pod: other('other') }, false],
    ['one of another namespace does', { kind: 'pod-placed', pod: other('web', 'other') }, false],
    ['a selected pod is gone', { kind: 'pod-gone', pod: other('web') }, true],
    ['another one is', { kind: 'pod-gone', pod: other('other') }, false],
    ['a pod is not selected any more', { kind: 'pod-relabelled', pod: other('other'), old: other('web') }, true],
    ['a pod has another label', { kind: 'pod-relabelled', pod: other('other'), old: other('third') }, false],
    ['a node with the label is added', { kind: 'node-added', node: a1 }, true],
    ['one without it is', { kind: 'node-added', node: none }, false],
    ['a node with the label is removed', { kind: 'node-removed', node: c1 }, true],
    ['one without it is removed', { kind: 'node-removed', node: none }, false],
    ['a node has other labels', changed(none, { zone: 'd' }), true],
    ['a node is as it was', changed(a1, { ...a1.node.metadata.labels }), false],
    ['a pod shrinks', { kind: 'pod-shrunk' }, false],
  ])('%s', (_, change, helps) => {
    expect(topologySpread.helps(change, info, new Map())).toBe(helps);
  });
});
