import type { Affinity, Node, Pod } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import type { Labels } from '../../framework/pod-affinity.ts';
import { createPodInfo } from '../../framework/pod-info.ts';
import type { ClusterChange } from '../../framework/plugin.ts';
import { type Decision, planAssignments } from '../../plan.ts';
import { apart, exampleTerm, near, preferNear } from '../../testing/affinity-examples.ts';
import { exampleNode, examplePod, exampleSnapshot } from '../../testing/examples.ts';
import { interPodAffinity } from './inter-pod-affinity.ts';

interface Sketch {
  readonly app?: string;
  readonly node?: string;
  readonly namespace?: string;
  readonly priority?: number;
  readonly cpu?: string;
  readonly affinity?: Affinity;
  readonly nominatedTo?: string;
}

function pod(name: string, sketch: Sketch = {}): Pod {
  const { app, affinity, priority = 0, nominatedTo, ...options } = sketch;
  const made = examplePod(name, {
    ...options,
    ...(app === undefined ? {} : { labels: { app } }),
    spec: { priority, ...(affinity === undefined ? {} : { affinity }) },
  });
  return nominatedTo === undefined ? made : { ...made, status: { ...made.status, nominatedNodeName: nominatedTo } };
}

/** `a1` and `a2` are in zone a, `b1` in zone b, `none` has no labels. */
const NODES: readonly Node[] = [
  ...['a1', 'a2', 'b1'].map((name) => exampleNode(name, { labels: { host: name, zone: name[0] ?? '' } })),
  exampleNode('none'),
];

const NAMESPACES: Readonly<Record<string, Record<string, string>>> = {
  default: { team: 'own' },
  blue: { team: 'blue' },
  red: { team: 'red' },
};

interface World {
  readonly nodes?: readonly Node[];
  readonly placed?: readonly Pod[];
}

function decide({ nodes = NODES, placed = [] }: World, waiting: readonly Pod[], seed = 1): readonly Decision[] {
  const snapshot = exampleSnapshot(nodes, [...placed, ...waiting], [], NAMESPACES);
  return planAssignments(snapshot, waiting.map(createPodInfo), seed);
}

/** The nodes that the filter allows, each checked separately. */
function allowed(waiting: Pod, placed: readonly Pod[] = [], nodes = NODES): readonly string[] {
  const only = (node: Node) =>
    nodes.map((one) => (one === node ? one : { ...one, spec: { ...one.spec, unschedulable: true } }));
  return nodes
    .filter((node) => decide({ nodes: only(node), placed }, [waiting])[0]?.kind === 'assign')
    .map(({ metadata }) => metadata.name ?? '');
}

const ALL = ['a1', 'a2', 'b1', 'none'];

describe('required affinity allows nodes', () => {
  it.each<readonly [string, Affinity, readonly Pod[], readonly string[]]>([
    ['in the domain of a matching pod', near(exampleTerm('x')), [pod('x', { app: 'x', node: 'a1' })], ['a1', 'a2']],
    ['with that very host', near(exampleTerm('x', 'host')), [pod('x', { app: 'x', node: 'a1' })], ['a1']],
    ['not where no pod matches', near(exampleTerm('x')), [pod('y', { app: 'y', node: 'a1' })], []],
    ['not by a pod on a node without the label', near(exampleTerm('x')), [pod('x', { app: 'x', node: 'none' })], []],
    [
      'in the domains of all terms, which may be of different pods',
      near(exampleTerm('x'), exampleTerm('x', 'host')),
      [pod('x', { app: 'x', node: 'a1' }), pod('x2', { app: 'x', node: 'b1' })],
      ['a1', 'b1'],
    ],
    [
      'not where one pod matches one term, and another one the other',
      near(exampleTerm('x'), { ...exampleTerm('x'), labelSelector: { matchLabels: { app: 'y' } } }),
      [pod('x', { app: 'x', node: 'a1' }), pod('y', { app: 'y', node: 'a1' })],
      [],
    ],
    [
      'not by a label that nodes only seem to have',
      near(exampleTerm('x', 'constructor')),
      [pod('x', { app: 'x', node: 'a1' })],
      [],
    ],
    ['not without a selector', near({ topologyKey: 'zone' }), [pod('x', { app: 'x', node: 'a1' })], []],
    [
      'by any pod with an empty selector',
      near({ topologyKey: 'zone', labelSelector: {} }),
      [pod('x', { node: 'b1' })],
      ['b1'],
    ],
    ['without regard to preferred terms', preferNear(100, exampleTerm('x')), [], ALL],
  ])('%s', (_, affinity, placed, nodes) => {
    expect(allowed(pod('p', { affinity }), placed)).toEqual(nodes);
  });
});

describe('the first pod of a group that wants its like', () => {
  const first = pod('p', { app: 'g', affinity: near(exampleTerm('g')) });

  it('goes to any node with the label while no pod matches anywhere', () => {
    expect(allowed(first)).toEqual(['a1', 'a2', 'b1']);
  });

  it('is not the first when a pod matches elsewhere', () => {
    expect(allowed(first, [pod('g', { app: 'g', node: 'b1' })])).toEqual(['b1']);
  });

  it('is the first when the only like pod is on a node without the label', () => {
    expect(allowed(first, [pod('g', { app: 'g', node: 'none' })])).toEqual(['a1', 'a2', 'b1']);
  });

  it('has to match all of its terms', () => {
    expect(allowed(pod('p', { app: 'g', affinity: near(exampleTerm('g'), exampleTerm('x')) }))).toEqual([]);
  });

  it('is not of its own group in another namespace', () => {
    const affinity = near(exampleTerm('g', 'zone', { namespaces: ['blue'] }));
    expect(allowed(pod('p', { app: 'g', affinity }))).toEqual([]);
  });

  it('is followed by the others of the same plan', () => {
    const group = ['p', 'q', 'r'].map((name) => pod(name, { app: 'g', affinity: near(exampleTerm('g')) }));
    for (let seed = 0; seed < 20; seed++) {
      const zones = decide({}, group, seed).map((decision) => decision.kind === 'assign' && decision.nodeName[0]);
      expect(new Set(zones).size).toBe(1);
      expect(zones).not.toContain(false);
    }
  });
});

describe('required anti-affinity allows nodes', () => {
  it.each<readonly [string, Affinity, readonly Pod[], readonly string[]]>([
    [
      'outside of the domain of a matching pod, also those in no domain',
      apart(exampleTerm('x')),
      [pod('x', { app: 'x', node: 'a1' })],
      ['b1', 'none'],
    ],
    [
      'that no term forbids',
      apart(exampleTerm('x'), exampleTerm('y', 'host')),
      [pod('y', { app: 'y', node: 'a1' }), pod('x', { app: 'x', node: 'b1' })],
      ['a2', 'none'],
    ],
    ['where only others are', apart(exampleTerm('x')), [pod('y', { app: 'y', node: 'a1' })], ALL],
    ['beside a pod on a node without the label', apart(exampleTerm('x')), [pod('x', { app: 'x', node: 'none' })], ALL],
  ])('%s', (_, affinity, placed, nodes) => {
    expect(allowed(pod('p', { affinity }), placed)).toEqual(nodes);
  });

  it('also against pods that are assigned in the same plan', () => {
    const replicas = ['p', 'q', 'r', 's', 't'].map((name) =>
      pod(name, { app: 'r', affinity: apart(exampleTerm('r', 'host')) }),
    );
    const nodes = NODES.filter(({ metadata }) => metadata.name !== 'none');
    const decisions = decide({ nodes }, replicas);
    expect(
      decisions
        .map((decision) => decision.kind === 'assign' && decision.nodeName)
        .slice(0, 3)
        .sort(),
    ).toEqual(['a1', 'a2', 'b1']);
    expect(decisions.slice(3).map(({ kind }) => kind)).toEqual(['refuse', 'refuse']);
  });
});

describe('required anti-affinity of a pod that has a node', () => {
  const hostile = (sketch: Sketch = {}) =>
    pod('x', { app: 'x', node: 'a1', affinity: apart(exampleTerm('p')), ...sketch });

  it('keeps a pod that it selects out of its domain', () => {
    expect(allowed(pod('p', { app: 'p' }), [hostile()])).toEqual(['b1', 'none']);
  });

  it('is nothing to a pod that it does not select', () => {
    expect(allowed(pod('q', { app: 'q' }), [hostile()])).toEqual(ALL);
    expect(allowed(pod('p', { app: 'p', namespace: 'blue' }), [hostile()])).toEqual(ALL);
  });

  it('has no domain on a node without the label', () => {
    expect(allowed(pod('p', { app: 'p' }), [hostile({ node: 'none' })])).toEqual(ALL);
  });

  it('counts for later pods of the same plan', () => {
    const [first] = NODES.filter(({ metadata }) => metadata.name === 'a1');
    const waiting = [pod('x', { app: 'x', priority: 1, affinity: apart(exampleTerm('p')) }), pod('p', { app: 'p' })];
    const decisions = decide({ nodes: first === undefined ? [] : [first] }, waiting);
    expect(decisions.map(({ kind }) => kind)).toEqual(['assign', 'refuse']);
  });

  it('counts while the pod is nominated, on the node where room is kept for it', () => {
    const nominated = pod('x', { priority: 5, nominatedTo: 'a1', affinity: apart(exampleTerm('p', 'host')) });
    const snapshot = exampleSnapshot(NODES.slice(0, 1), [nominated], [], NAMESPACES);
    const decisionOf = (priority: number) =>
      planAssignments(snapshot, [createPodInfo(pod('p', { app: 'p', priority }))], 1)[0]?.kind;
    expect([decisionOf(0), decisionOf(9)]).toEqual(['refuse', 'assign']);
  });

  it('has no domain on a node without the label, also while the pod is nominated', () => {
    const nominated = pod('x', { priority: 5, nominatedTo: 'none', affinity: apart(exampleTerm('p', 'host')) });
    const snapshot = exampleSnapshot(NODES.slice(3), [nominated], [], NAMESPACES);
    expect(planAssignments(snapshot, [createPodInfo(pod('p', { app: 'p' }))], 1)).toMatchObject([{ kind: 'assign' }]);
  });

  it('counts from the decision on that nominates the pod', () => {
    const hostileToBoth = pod('x', { priority: 9, affinity: apart(exampleTerm('v'), exampleTerm('p', 'host')) });
    const placed = [pod('v', { app: 'v', node: 'a1' })];
    const decisions = decide({ nodes: NODES.slice(0, 1), placed }, [hostileToBoth, pod('p', { app: 'p' })]);
    expect(decisions).toMatchObject([
      { kind: 'refuse', nominatedTo: 'a1' },
      { kind: 'refuse', plugins: new Set(['InterPodAffinity']) },
    ]);
  });
});

describe('a pod that is nominated to a node', () => {
  const nominated = pod('x', { app: 'x', priority: 5, nominatedTo: 'a1' });
  const decisionOf = (affinity: Affinity) => {
    const snapshot = exampleSnapshot(NODES.slice(0, 1), [nominated], [], NAMESPACES);
    return planAssignments(snapshot, [createPodInfo(pod('p', { affinity }))], 1)[0];
  };

  it('keeps others away that have to be apart from it', () => {
    expect(decisionOf(apart(exampleTerm('x', 'host')))?.kind).toBe('refuse');
    expect(decisionOf(apart(exampleTerm('y', 'host')))?.kind).toBe('assign');
  });

  it('goes elsewhere when a pod that it has to be apart from is there by now', () => {
    const waiting = pod('p', { priority: 5, nominatedTo: 'a1', affinity: apart(exampleTerm('x', 'host')) });
    const placed = [pod('x', { app: 'x', node: 'a1', priority: 5 })];
    expect(decide({ nodes: NODES.slice(0, 2), placed }, [waiting])).toMatchObject([{ kind: 'assign', nodeName: 'a2' }]);
  });

  it('is not there yet for those that want it: it may never come', () => {
    expect(decisionOf(near(exampleTerm('x', 'host')))?.kind).toBe('refuse');
  });
});

describe('a term selects pods of', () => {
  const like = (namespace: string) => pod(`x-${namespace}`, { app: 'x', namespace, node: 'a1' });
  const own = like('default');
  const blue = like('blue');
  const red = like('red');
  it.each<readonly [string, Parameters<typeof exampleTerm>[2], readonly Pod[]]>([
    ["the pod's own namespace by default", {}, [own]],
    ['namespaces that are named, not its own', { namespaces: ['blue'] }, [blue]],
    ['namespaces by labels', { namespaceSelector: { matchLabels: { team: 'red' } } }, [red]],
    [
      'namespaces that are named, and such by labels',
      { namespaces: ['blue'], namespaceSelector: { matchLabels: { team: 'red' } } },
      [blue, red],
    ],
    ['all namespaces by an empty selector', { namespaceSelector: {} }, [own, blue, red]],
    ['its own namespace by an empty list', { namespaces: [] }, [own]],
  ])('%s', (_, more, selected) => {
    const waiting = pod('p', { app: 'p', affinity: apart(exampleTerm('x', 'zone', more)) });
    const fromOther = (one: Pod): Pod => {
      const other = pod('other', { affinity: apart(exampleTerm('p', 'zone', more)), node: 'a1' });
      return { ...other, metadata: { ...other.metadata, namespace: one.metadata.namespace ?? '' } };
    };
    const refuses = (one: Pod) => !allowed(waiting, [one]).includes('a1');
    expect([own, blue, red].filter(refuses)).toEqual(selected);
    // The same, with the terms on the pod that has a node.
    const inNamespace = (one: Pod) => pod('p', { app: 'p', namespace: one.metadata.namespace ?? '' });
    const isRefused = (one: Pod) => !allowed(inNamespace(one), [fromOther(own)]).includes('a1');
    expect([own, blue, red].filter(isRefused)).toEqual(selected);
  });
});

describe('the message for a pod that is refused', () => {
  const vain = (count: number) => `preemption: 0/${count} nodes are available: `;
  it.each<readonly [string, Pod, readonly Pod[], string]>([
    [
      'affinity, which no preemption satisfies',
      pod('p', { priority: 9, affinity: near(exampleTerm('x')) }),
      [pod('y', { node: 'a1' })],
      "1 node(s) didn't match pod affinity rules. " + vain(1) + '1 Preemption is not helpful for scheduling.',
    ],
    [
      'anti-affinity',
      pod('p', { affinity: apart(exampleTerm('x')) }),
      [pod('x', { app: 'x', node: 'a1' })],
      "1 node(s) didn't match pod anti-affinity rules. " + vain(1) + '1 No preemption victims found for incoming pod.',
    ],
    [
      'anti-affinity of others',
      pod('p', { app: 'p' }),
      [pod('x', { app: 'x', node: 'a1', affinity: apart(exampleTerm('p')) })],
      "1 node(s) didn't satisfy existing pods anti-affinity rules. " +
        vain(1) +
        '1 No preemption victims found for incoming pod.',
    ],
    [
      'affinity before anti-affinity',
      pod('p', { app: 'p', affinity: { ...near(exampleTerm('z')), ...apart(exampleTerm('x')) } }),
      [pod('x', { app: 'x', node: 'a1', affinity: apart(exampleTerm('p')) })],
      "1 node(s) didn't match pod affinity rules. " + vain(1) + '1 Preemption is not helpful for scheduling.',
    ],
    [
      'its own anti-affinity before that of others',
      pod('p', { app: 'p', affinity: apart(exampleTerm('x')) }),
      [pod('x', { app: 'x', node: 'a1', affinity: apart(exampleTerm('p')) })],
      "1 node(s) didn't match pod anti-affinity rules. " + vain(1) + '1 No preemption victims found for incoming pod.',
    ],
  ])('says %s', (_, waiting, placed, message) => {
    const [decision] = decide({ nodes: NODES.slice(0, 1), placed }, [waiting]);
    expect(decision).toMatchObject({ kind: 'refuse', plugins: new Set(['InterPodAffinity']) });
    expect(decision?.kind === 'refuse' && decision.message).toBe(`0/1 nodes are available: ${message}`);
  });
});

describe('preemption', () => {
  const victims = (waiting: Pod, placed: readonly Pod[], nodes: readonly Node[]) => {
    const [decision] = decide({ nodes, placed }, [waiting]);
    if (decision?.kind !== 'refuse') return decision?.kind;
    return decision.preemption.kind === 'possible'
      ? decision.preemption.victims.map(({ key }) => key)
      : decision.message.replace(/.*preemption: /, '');
  };
  const a1 = NODES.slice(0, 1);
  const a1a2 = NODES.slice(0, 2);

  it('takes away the pods that anti-affinity forbids, and no others', () => {
    const placed = [
      pod('x', { app: 'x', node: 'a1' }),
      pod('y', { app: 'y', node: 'a1' }),
      pod('x2', { app: 'x', node: 'a1' }),
    ];
    expect(victims(pod('p', { priority: 9, affinity: apart(exampleTerm('x')) }), placed, a1)).toEqual([
      'default/x',
      'default/x2',
    ]);
  });

  it('takes away the pods whose anti-affinity forbids the pod, and no others', () => {
    const placed = [
      pod('x', { app: 'x', node: 'a1', affinity: apart(exampleTerm('p')) }),
      pod('y', { app: 'y', node: 'a1', affinity: apart(exampleTerm('q')) }),
    ];
    expect(victims(pod('p', { app: 'p', priority: 9 }), placed, a1)).toEqual(['default/x']);
  });

  it('may take away a pod that was assigned in the same plan', () => {
    const waiting = [
      pod('x', { app: 'x', affinity: apart(exampleTerm('z')) }),
      pod('p', { priority: 9, affinity: apart(exampleTerm('x')) }),
    ];
    expect(decide({ nodes: a1, placed: [pod('y', { node: 'a1' })] }, waiting)).toMatchObject([
      { kind: 'assign' },
      { kind: 'refuse', preemption: { kind: 'possible', victims: [{ key: 'default/x' }] } },
    ]);
  });

  it('does not help against a pod of the domain on another node', () => {
    const placed = [pod('x', { app: 'x', node: 'a1' }), pod('x2', { app: 'x', node: 'a2' })];
    expect(victims(pod('p', { priority: 9, affinity: apart(exampleTerm('x')) }), placed, a1a2)).toBe(
      "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules.",
    );
    const hostile = placed.map((one) => ({
      ...one,
      spec: { containers: [], ...one.spec, affinity: apart(exampleTerm('p')) },
    }));
    expect(victims(pod('p', { app: 'p', priority: 9 }), hostile, a1a2)).toBe(
      "0/2 nodes are available: 2 node(s) didn't satisfy existing pods anti-affinity rules.",
    );
  });

  it('leaves the pod that is wanted, and takes another one', () => {
    const placed = [
      pod('wanted', { app: 'x', node: 'a1', cpu: '1' }),
      pod('important', { app: 'y', node: 'a1', cpu: '1', priority: 5 }),
    ];
    const waiting = pod('p', { priority: 9, cpu: '1', affinity: near(exampleTerm('x')) });
    expect(victims(waiting, placed, a1)).toBe("0/1 nodes are available: 1 node(s) didn't match pod affinity rules.");
    const safe = [pod('wanted', { app: 'x', node: 'a1', cpu: '1', priority: 9 }), ...placed.slice(1)];
    expect(victims(waiting, safe, a1)).toEqual(['default/important']);
  });

  it('lets a pod be the first of its kind when all of its kind are gone', () => {
    const waiting = pod('p', { app: 'g', priority: 9, cpu: '2', affinity: near(exampleTerm('g')) });
    expect(victims(waiting, [pod('g', { app: 'g', node: 'a1', cpu: '1' })], a1)).toEqual(['default/g']);
    const elsewhere = pod('g2', { app: 'g', node: 'b1', cpu: '1', priority: 9 });
    const nodes = NODES.filter(({ metadata }) => ['a1', 'b1'].includes(metadata.name ?? ''));
    expect(victims(waiting, [pod('g', { app: 'g', node: 'a1', cpu: '1' }), elsewhere], nodes)).toBe(
      "0/2 nodes are available: 1 No preemption victims found for incoming pod, 1 node(s) didn't match pod affinity rules.",
    );
  });
});

describe('a refused pod may fit after', () => {
  const namespaces = new Map<string, Labels>(Object.entries(NAMESPACES));
  const helps = (change: ClusterChange, waiting: Pod) =>
    interPodAffinity.helps(change, createPodInfo(waiting), namespaces);
  const info = (...args: Parameters<typeof pod>) => createPodInfo(pod(...args));
  const nodeInfo = (node: Node) => {
    const [one] = exampleSnapshot([node]).nodes;
    if (one === undefined) throw new Error('no node');
    return one;
  };
  const wants = pod('p', { app: 'p', affinity: near(exampleTerm('x')) });
  const wantsLike = pod('p', { app: 'x', affinity: near(exampleTerm('x')) });
  const wantsRed = pod('p', {
    affinity: near(exampleTerm('x', 'zone', { namespaceSelector: { matchLabels: { team: 'red' } } })),
  });
  const shuns = pod('p', { app: 'p', affinity: apart(exampleTerm('y'), exampleTerm('x')) });
  const plain = pod('p', { app: 'p' });
  const x = info('x', { app: 'x', node: 'a1' });
  const y = info('y', { app: 'y', node: 'a1' });
  const z = info('z', { app: 'z', node: 'a1' });
  const hostile = info('h', { app: 'h', node: 'a1', affinity: apart(exampleTerm('q'), exampleTerm('p')) });
  const redX = info('x', { app: 'x', node: 'a1', namespace: 'red' });
  const placed = (one: typeof x): ClusterChange => ({ kind: 'pod-placed', pod: one });
  const gone = (one: typeof x): ClusterChange => ({ kind: 'pod-gone', pod: one });
  const relabelled = (old: typeof x, now: typeof x): ClusterChange => ({ kind: 'pod-relabelled', pod: now, old });
  const added = (labels: Record<string, string>): ClusterChange => ({
    kind: 'node-added',
    node: nodeInfo(exampleNode('n', { labels })),
  });
  const changed = (from: Record<string, string>, to: Record<string, string>): ClusterChange => ({
    kind: 'node-changed',
    node: nodeInfo(exampleNode('n', { labels: to })),
    old: nodeInfo(exampleNode('n', { labels: from })),
  });
  const named = (name: string, old: Labels, labels: Labels): ClusterChange => ({
    kind: 'namespace-changed',
    name,
    labels,
    old,
  });

  it.each<readonly [string, ClusterChange, Pod, boolean]>([
    ['a pod that it wants is placed', placed(x), wants, true],
    ['a pod that it does not want is placed', placed(y), wants, false],
    ['a pod that it wants is placed in another namespace', placed(redX), wants, false],
    ['a pod is placed in a namespace that it selects by labels', placed(redX), wantsRed, true],
    ['a pod is placed in one that it does not select', placed(x), wantsRed, false],
    ['a pod that it shuns is placed', placed(x), shuns, false],
    ['any pod is placed, though it wants none', placed(x), plain, false],
    ['a pod that one of its terms shuns is gone', gone(x), shuns, true],
    ['another pod is gone', gone(z), shuns, false],
    ['a pod that shuns it by one of its terms is gone', gone(hostile), plain, true],
    ['a pod that shuns others is gone', gone(hostile), pod('r', { app: 'r' }), false],
    ['a pod that it wants is gone', gone(x), wants, false],
    ['its last like is gone, so that it may be the first', gone(x), wantsLike, true],
    ['a pod becomes one that it wants', relabelled(z, x), wants, true],
    ['a pod that it wants stays one', relabelled(x, x), wants, false],
    ['a pod becomes another one that it does not want', relabelled(y, z), wants, false],
    ['a pod is not its like any more', relabelled(x, z), wantsLike, true],
    ['a pod becomes one that it does not shun', relabelled(x, z), shuns, true],
    ['a pod becomes one that it shuns', relabelled(z, x), shuns, false],
    ['a node comes with the label', added({ zone: 'c' }), wants, true],
    ['a node comes without the label', added({}), wants, false],
    ['a node comes without the label, which it need not have', added({}), shuns, true],
    ['a node comes where others shun it', added({}), plain, true],
    ['a node gets another label', changed({ zone: 'a' }, { zone: 'b' }), shuns, true],
    ['a node changes otherwise', changed({ zone: 'a' }, { zone: 'a' }), shuns, false],
    ['a namespace gets the labels', named('green', {}, { team: 'red' }), wantsRed, true],
    ['a namespace loses the labels', named('red', { team: 'red' }, {}), wantsRed, true],
    ['a namespace gets other labels', named('green', {}, { team: 'green' }), wantsRed, false],
    ['a namespace changes, and terms select none by labels', named('green', {}, { team: 'red' }), wants, false],
    ['its own namespace changes, which others may select', named('default', {}, { team: 'red' }), plain, true],
    ['a pod holds less', { kind: 'pod-shrunk' }, shuns, false],
  ])('%s', (_, change, waiting, expected) => {
    expect(helps(change, waiting)).toBe(expected);
  });
});
