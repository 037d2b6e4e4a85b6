import { must, seededRandom } from '@gantry/base';
import type { Node, Pod, PodDisruptionBudget } from '@gantry/objects';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createPodInfo } from './framework/pod-info.ts';
import type { FilterPlugin } from './framework/plugin.ts';
import { type Decision, planAssignments } from './plan.ts';
import { FILTERS, SCORES } from './plugins/registry.ts';
import { exampleBudget, exampleNode, examplePod, exampleSnapshot } from './testing/examples.ts';

interface Sketch {
  readonly cpu?: number;
  readonly priority?: number;
  readonly node?: string;
  readonly app?: string;
  /** The minute in which it started. */
  readonly started?: number;
  readonly terminating?: 'by-preemption' | 'by-others';
  readonly nominatedTo?: string;
  readonly never?: boolean;
}

const TARGET = { type: 'DisruptionTarget', status: 'True', reason: 'PreemptionByScheduler' };

function podOf(name: string, sketch: Sketch = {}): Pod {
  const { cpu = 1000, priority = 0, node, app, started, terminating, nominatedTo, never } = sketch;
  const pod = examplePod(name, {
    cpu: `${cpu}m`,
    ...(node === undefined ? {} : { node }),
    spec: { priority, preemptionPolicy: never === true ? 'Never' : 'PreemptLowerPriority' },
  });
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      ...(app === undefined ? {} : { labels: { app } }),
      ...(terminating === undefined ? {} : { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    },
    status: {
      phase: 'Pending',
      ...(started === undefined ? {} : { startTime: `2026-01-01T00:${String(started).padStart(2, '0')}:00Z` }),
      ...(nominatedTo === undefined ? {} : { nominatedNodeName: nominatedTo }),
      ...(terminating === 'by-preemption' ? { conditions: [TARGET] } : {}),
    },
  };
}

interface World {
  readonly nodes?: readonly Node[];
  readonly pods: readonly Pod[];
  readonly budgets?: readonly PodDisruptionBudget[];
}

/** Each node has two CPUs. */
const A = exampleNode('a');
const B = exampleNode('b');

function decide({ nodes = [A], pods, budgets = [] }: World, waiting: readonly Pod[], seed = 1): readonly Decision[] {
  return planAssignments(exampleSnapshot(nodes, [...pods, ...waiting], budgets), waiting.map(createPodInfo), seed);
}

function victimsOf(decision: Decision | undefined): readonly string[] | undefined {
  if (decision?.kind !== 'refuse' || decision.preemption.kind !== 'possible') return undefined;
  return decision.preemption.victims.map(({ pod }) => pod.metadata.name ?? '');
}

/** Returns `NODE: VICTIMS`, or the message of the refusal. */
function outcome(world: World, pod: Pod, seed = 1): string {
  const [decision] = decide(world, [pod], seed);
  const victims = victimsOf(decision);
  if (decision?.kind === 'assign') return `assigned to ${decision.nodeName}`;
  if (decision?.kind !== 'refuse') return 'postponed';
  return victims === undefined ? decision.message : `${decision.nominatedTo}: ${victims.join(' ')}`;
}

const none = '0/1 nodes are available: 1 Insufficient cpu. preemption:';

describe('a pod that fits nowhere', () => {
  it.each<[string, World, Pod, string]>([
    [
      'evicts a pod of lower priority',
      { pods: [podOf('x', { cpu: 2000, node: 'a' })] },
      podOf('p', { priority: 1 }),
      'a: x',
    ],
    [
      'evicts none of its own priority',
      { pods: [podOf('x', { cpu: 2000, node: 'a', priority: 1 })] },
      podOf('p', { priority: 1 }),
      `${none} 0/1 nodes are available: 1 No preemption victims found for incoming pod.`,
    ],
    [
      'evicts none of its own priority beside a lower one that is too small',
      { pods: [podOf('x', { cpu: 1900, node: 'a', priority: 1 }), podOf('y', { cpu: 100, node: 'a' })] },
      podOf('p', { priority: 1 }),
      `${none} 0/1 nodes are available: 1 Insufficient cpu.`,
    ],
    [
      'evicts none by the policy Never',
      { pods: [podOf('x', { cpu: 2000, node: 'a' })] },
      podOf('p', { priority: 1, never: true }),
      `${none} not eligible due to preemptionPolicy=Never.`,
    ],
    [
      'evicts none where no room is enough',
      { pods: [podOf('x', { node: 'a' })] },
      podOf('p', { cpu: 3000, priority: 1 }),
      `${none} 0/1 nodes are available: 1 Preemption is not helpful for scheduling.`,
    ],
    [
      'evicts the less important ones: of lower priority',
      { pods: [podOf('x', { node: 'a', priority: 2 }), podOf('y', { node: 'a', priority: 1 })] },
      podOf('p', { priority: 3 }),
      'a: y',
    ],
    [
      'and of equal priority those that were started last',
      { pods: [podOf('x', { node: 'a', started: 2 }), podOf('y', { node: 'a', started: 1 })] },
      podOf('p', { priority: 3 }),
      'a: x',
    ],
    [
      'spares a large important pod rather than two small ones',
      {
        pods: [
          podOf('x', { cpu: 900, node: 'a', priority: 3 }),
          podOf('y', { cpu: 600, node: 'a', priority: 2 }),
          podOf('z', { cpu: 400, node: 'a', priority: 1 }),
        ],
      },
      podOf('p', { priority: 4 }),
      'a: y z',
    ],
    [
      'spares one that a budget protects, though it is less important',
      {
        pods: [podOf('x', { node: 'a', priority: 2 }), podOf('y', { node: 'a', priority: 1, app: 'safe' })],
        budgets: [exampleBudget('safe', 0)],
      },
      podOf('p', { priority: 3 }),
      'a: x',
    ],
    [
      'violates a budget when there is no other way',
      { pods: [podOf('x', { cpu: 2000, node: 'a', app: 'safe' })], budgets: [exampleBudget('safe', 0)] },
      podOf('p', { priority: 3 }),
      'a: x',
    ],
    [
      'counts how many disruptions a budget allows',
      {
        pods: [
          podOf('x', { node: 'a', priority: 1, app: 'safe' }),
          podOf('y', { cpu: 500, node: 'a', app: 'safe' }),
          podOf('z', { cpu: 500, node: 'a', priority: 2 }),
        ],
        budgets: [exampleBudget('safe', 1)],
      },
      podOf('p', { cpu: 1500, priority: 3 }),
      'a: z x',
    ],
    [
      'waits for pods that terminate before it evicts others',
      {
        pods: [
          podOf('x', { node: 'a', priority: 2, terminating: 'by-others' }),
          podOf('y', { node: 'a', priority: 1 }),
        ],
      },
      podOf('p', { priority: 3 }),
      'a: ',
    ],
  ])('%s', (_, world, pod, expected) => {
    expect(outcome(world, pod)).toBe(expected);
  });

  it.each<[string, World, Pod, string]>([
    [
      'violations of budgets',
      {
        nodes: [A, B],
        pods: [podOf('x', { cpu: 2000, node: 'a', app: 'safe' }), podOf('y', { cpu: 2000, node: 'b', priority: 2 })],
        budgets: [exampleBudget('safe', 0)],
      },
      podOf('p', { priority: 3 }),
      'b: y',
    ],
    [
      'the priority of the most important victim',
      {
        nodes: [A, B],
        pods: [
          podOf('x', { cpu: 2000, node: 'a', priority: 2 }),
          podOf('y', { node: 'b', priority: 1 }),
          podOf('z', { node: 'b', priority: 1 }),
        ],
      },
      podOf('p', { cpu: 2000, priority: 3 }),
      'b: y z',
    ],
    [
      'the sum of priorities',
      {
        nodes: [A, B],
        pods: [
          podOf('w', { node: 'a', priority: 2 }),
          podOf('x', { node: 'a', priority: 2 }),
          podOf('y', { node: 'b', priority: 2 }),
          podOf('z', { node: 'b', priority: 1 }),
        ],
      },
      podOf('p', { cpu: 2000, priority: 3 }),
      'b: y z',
    ],
    [
      'the number of victims, also of negative priority',
      {
        nodes: [A, B],
        pods: [
          podOf('x', { node: 'a', priority: -5 }),
          podOf('y', { node: 'a', priority: -6 }),
          podOf('z', { cpu: 2000, node: 'b', priority: -5 }),
        ],
      },
      podOf('p', { cpu: 2000, priority: 3 }),
      'b: z',
    ],
    [
      'the time of the start',
      {
        nodes: [A, B],
        pods: [podOf('x', { cpu: 2000, node: 'a', started: 1 }), podOf('y', { cpu: 2000, node: 'b', started: 2 })],
      },
      podOf('p', { priority: 3 }),
      'b: y',
    ],
  ])('chooses the node by %s', (_, world, pod, expected) => {
    for (const seed of [1, 2, 3, 4, 5, 6]) expect(outcome(world, pod, seed)).toBe(expected);
  });

  it('considers only nodes where room is what is missing', () => {
    const tainted = exampleNode('a', { taints: [{ key: 'k', value: 'v', effect: 'NoSchedule' }] });
    const world = {
      nodes: [tainted, B],
      pods: [podOf('x', { node: 'a' }), podOf('y', { cpu: 2000, node: 'b', priority: 2 })],
    };
    expect(outcome(world, podOf('p', { cpu: 2000, priority: 3 }))).toBe('b: y');
  });

  it('stops looking when there are enough candidates', () => {
    const nodes = Array.from({ length: 500 }, (_, i) => exampleNode(`n${i}`));
    const pods = nodes.map((_, i) => podOf(`x${i}`, { cpu: 2000, node: `n${i}` }));
    const tried = new Set<string>();
    const filters = FILTERS.map(
      (one): FilterPlugin => ({
        ...one,
        filter: (pod, node) => {
          if (node.pods.size === 0) tried.add(node.name);
          return one.filter(pod, node);
        },
      }),
    );
    const waiting = podOf('p', { priority: 1 });
    const [decision] = planAssignments(exampleSnapshot(nodes, pods), [createPodInfo(waiting)], 1, {
      filters,
      scores: SCORES,
    });
    expect(victimsOf(decision)).toHaveLength(1);
    expect(tried.size).toBe(100);
  });

  it('is left for the next cycle when this one has tried very many pods, and so are those after it', () => {
    const nodes = Array.from({ length: 150 }, (_, i) => exampleNode(`n${i}`, { cpu: '100' }));
    const pods = nodes.flatMap((_, i) =>
      Array.from({ length: 100 }, (__, j) => podOf(`x${i}-${j}`, { node: `n${i}`, priority: j === 0 ? 0 : 5 })),
    );
    const large = { cpu: 2000, priority: 1 };
    const waiting = [podOf('p', large), podOf('q', large), podOf('r', { cpu: 0 })];
    expect(decide({ nodes, pods }, waiting).map(({ kind }) => kind)).toEqual(['refuse', 'postpone', 'postpone']);
  });
});

describe('a nominated pod', () => {
  it.each(['by-preemption', 'by-others'] as const)('waits for victims that terminate %s', (terminating) => {
    const world = { pods: [podOf('x', { node: 'a', terminating }), podOf('y', { node: 'a' })] };
    const pod = podOf('p', { cpu: 2000, priority: 1, nominatedTo: 'a' });
    const [decision] = decide(world, [pod]);
    if (terminating === 'by-others') expect(victimsOf(decision)).toEqual(['y']);
    else {
      const message = `${none} not eligible due to a terminating pod on the nominated node.`;
      expect(decision).toMatchObject({ message, nominatedTo: 'a', preemption: { kind: 'none' } });
    }
  });

  it('stays with its node when no further pod has to go there, though another node has become better', () => {
    const pods = [
      podOf('x', { cpu: 2000, node: 'a', priority: 1, terminating: 'by-others' }),
      podOf('y', { cpu: 2000, node: 'b' }),
    ];
    expect(outcome({ nodes: [A, B], pods }, podOf('p', { priority: 2 }))).toBe('b: y');
    expect(outcome({ nodes: [A, B], pods }, podOf('p', { priority: 2, nominatedTo: 'a' }))).toBe('a: ');
  });

  it('looks for another node when room does not help on its own any more', () => {
    const nodes = [exampleNode('a', { unschedulable: true }), B];
    const pods = [podOf('x', { node: 'a', terminating: 'by-preemption' }), podOf('y', { cpu: 2000, node: 'b' })];
    expect(outcome({ nodes, pods }, podOf('p', { priority: 1, nominatedTo: 'a' }))).toBe('b: y');
  });

  it('loses its nomination when preemption is in vain', () => {
    const pods = [podOf('x', { cpu: 2000, node: 'a', priority: 5 })];
    const [decision] = decide({ pods }, [podOf('p', { priority: 1, nominatedTo: 'a' })]);
    expect(decision).toMatchObject({ kind: 'refuse', nominatedTo: '' });
  });

  it('is assigned to its node when it fits there, though another is better', () => {
    const pods = [podOf('x', { node: 'a' })];
    expect(outcome({ nodes: [A, B], pods }, podOf('p', { nominatedTo: 'a' }))).toBe('assigned to a');
  });

  it('is nominated to the same node again, of equal ones', () => {
    const pods = [podOf('x', { cpu: 2000, node: 'a' }), podOf('y', { cpu: 2000, node: 'b' })];
    const pod = podOf('p', { priority: 1, nominatedTo: 'b' });
    for (const seed of [1, 2, 3, 4, 5, 6]) expect(outcome({ nodes: [A, B], pods }, pod, seed)).toBe('b: y');
  });

  it.each([
    ['its own', 2, 'refuse'],
    ['a lower', 1, 'refuse'],
    ['a higher', 3, 'assign'],
  ])('keeps room from pods of %s priority, but not the other way', (_, priority, kind) => {
    const pods = [podOf('x', { node: 'a', priority: 9 }), podOf('n', { priority: 2, nominatedTo: 'a' })];
    expect(decide({ pods }, [podOf('p', { priority })])[0]?.kind).toBe(kind);
  });

  it('keeps no room when it has been assigned', () => {
    const pod = podOf('n', { cpu: 1000, priority: 2, nominatedTo: 'a' });
    const kinds = decide({ pods: [] }, [pod, podOf('p', { priority: 2 })]).map(({ kind }) => kind);
    expect(kinds).toEqual(['assign', 'assign']);
  });

  it('gives way to a pod of higher priority, which needs the room', () => {
    const pods = [podOf('x', { cpu: 2000, node: 'a' }), podOf('n', { cpu: 2000, priority: 1, nominatedTo: 'a' })];
    const [decision] = decide({ pods }, [podOf('p', { cpu: 2000, priority: 2 })]);
    expect(victimsOf(decision)).toEqual(['x']);
    const displaced =
      decision?.kind === 'refuse' && decision.preemption.kind === 'possible' && decision.preemption.displaced;
    expect(displaced).toMatchObject([{ key: 'default/n' }]);
  });

  it('that is decided on in the same cycle gets its own decision instead', () => {
    const pods = [podOf('x', { cpu: 2000, node: 'a' })];
    const waiting = [podOf('p', { cpu: 2000, priority: 2 }), podOf('n', { cpu: 2000, priority: 1, nominatedTo: 'a' })];
    const decisions = decide({ pods }, waiting);
    expect(decisions[0]).toMatchObject({ preemption: { displaced: [] } });
    expect(decisions[1]).toMatchObject({ kind: 'refuse', nominatedTo: '' });
  });
});

describe('several pods of one cycle', () => {
  it('share no victim, and evict no more than all of them need', () => {
    const pods = ['w', 'x', 'y', 'z'].map((name) => podOf(name, { cpu: 500, node: 'a' }));
    const decisions = decide({ pods }, [podOf('p', { priority: 1 }), podOf('q', { cpu: 500, priority: 1 })]);
    const victims = decisions.map((decision) => victimsOf(decision) ?? []);
    expect(victims.map((one) => one.length)).toEqual([2, 1]);
    expect(new Set(victims.flat()).size).toBe(3);
  });

  it('share the disruptions that a budget allows', () => {
    const pods = [
      podOf('x', { cpu: 2000, node: 'a', app: 'safe' }),
      podOf('y', { cpu: 2000, node: 'b', app: 'safe' }),
      podOf('z', { cpu: 2000, node: 'c', priority: 1 }),
    ];
    const world = { nodes: [A, B, exampleNode('c')], pods, budgets: [exampleBudget('safe', 1)] };
    const decisions = decide(world, [podOf('p', { cpu: 2000, priority: 2 }), podOf('q', { cpu: 2000, priority: 2 })]);
    expect(victimsOf(decisions[1])).toEqual(['z']);
  });

  it('of lower priority find no victims among those that leave already', () => {
    const pods = [podOf('x', { cpu: 2000, node: 'a' })];
    const waiting = [podOf('p', { cpu: 2000, priority: 2 }), podOf('q', { cpu: 2000, priority: 1 })];
    const decisions = decide({ pods }, waiting);
    expect(decisions.map(victimsOf)).toEqual([['x'], undefined]);
  });
});

it('pods of one cycle that no filter distinguishes preempt as if each looked at all nodes', () => {
  const every: FilterPlugin = { name: 'Every', filter: () => [], helps: () => false };
  const random = seededRandom(1);
  const below = (count: number) => Math.floor(random() * count);
  let preempting = 0;
  for (let seed = 0; seed < 200; seed++) {
    const nodes = ['a', 'b', 'c', 'd', 'e'].map((name) => exampleNode(name));
    const pods = nodes.flatMap(({ metadata: { name = '' } }) =>
      Array.from({ length: 2 + below(3) }, (_, i) =>
        podOf(`${name}${i}`, {
          cpu: 500,
          node: name,
          priority: below(3),
          started: below(3),
          ...(below(3) === 0 ? { app: 'safe' } : {}),
        }),
      ),
    );
    const budgets = below(2) === 0 ? [exampleBudget('safe', below(3))] : [];
    const waiting = Array.from({ length: 6 }, (_, i) => podOf(`p${i}`, { cpu: 1500, priority: 3 - Math.floor(i / 4) }));
    const plan = (filters: readonly FilterPlugin[]) =>
      planAssignments(exampleSnapshot(nodes, pods, budgets), waiting.map(createPodInfo), seed, {
        filters,
        scores: SCORES,
      }).map((one) => [one.pod.key, one.kind, victimsOf(one), one.kind === 'refuse' ? one.message : '']);
    const decisions = plan(FILTERS);
    // Without a sign of one filter, pods share nothing that was found for others.
    expect(decisions, `seed ${seed}`).toEqual(plan([...FILTERS, every]));
    preempting += decisions.filter(([, , victims]) => victims !== undefined).length;
  }
  expect(preempting).toBeGreaterThan(200);
});

describe('any preemption', () => {
  const priority = fc.integer({ min: 0, max: 3 });
  const cpu = fc.integer({ min: 100, max: 1500 });
  const app = fc.constantFrom('one', 'two', 'three');
  const terminating = fc.constantFrom('by-preemption', 'by-others', undefined, undefined, undefined);
  const placed = fc.record({
    priority,
    cpu,
    app,
    node: fc.constantFrom('a', 'b', 'c'),
    started: fc.nat(3),
    terminating,
  });
  const waiting = fc.record({ priority, cpu, nominatedTo: fc.constantFrom(undefined, undefined, 'a', 'b', 'gone') });
  const world = fc.record({
    placed: fc.array(placed, { maxLength: 12 }),
    waiting: fc.array(waiting, { maxLength: 6 }),
    allowed: fc.array(fc.nat(2), { minLength: 2, maxLength: 2 }),
    seed: fc.integer(),
  });
  type Drawn = typeof world extends fc.Arbitrary<infer T> ? T : never;

  const NODES = ['a', 'b', 'c'].map((name) => exampleNode(name));

  interface Cluster {
    readonly pods: readonly Pod[];
    readonly waiting: readonly Pod[];
    readonly budgets: readonly PodDisruptionBudget[];
    readonly seed: number;
  }

  function clusterOf({ placed: on, waiting: without, allowed, seed }: Drawn): Cluster {
    const drop = (sketch: object) =>
      Object.fromEntries(Object.entries(sketch).filter(([, value]) => value !== undefined));
    const used = new Map<string, number>();
    const pods = on.flatMap((sketch, i) => {
      const total = (used.get(sketch.node) ?? 0) + sketch.cpu;
      if (total > 2000) return [];
      used.set(sketch.node, total);
      // Every pod may wait for the room of terminating pods.
      return [podOf(`x${i}`, drop(sketch.terminating === undefined ? sketch : { ...sketch, priority: -1 }))];
    });
    const sorted = without.toSorted((one, other) => other.priority - one.priority);
    return {
      pods,
      waiting: sorted.map((sketch, i) => podOf(`p${i}`, drop(sketch))),
      budgets: [exampleBudget('one', allowed[0] ?? 0), exampleBudget('two', allowed[1] ?? 0)],
      seed,
    };
  }

  const plan = ({ pods, waiting: pending, budgets, seed }: Cluster) =>
    decide({ nodes: NODES, pods, budgets }, pending, seed);

  const assigned = (pod: Pod, nodeName: string): Pod => ({
    ...pod,
    spec: { ...must(pod.spec, 'spec'), nodeName },
    status: { phase: 'Running' },
  });

  /** The cluster after the writes of a cycle. The victims are terminating, or are gone when `gone` says so. */
  function apply(cluster: Cluster, decisions: readonly Decision[], gone: 'gone' | 'terminating'): Cluster {
    const victims = new Set(decisions.flatMap((decision) => victimsOf(decision) ?? []));
    const leave = (pod: Pod): readonly Pod[] => {
      const isVictim = victims.has(pod.metadata.name ?? '');
      if (gone === 'gone' && (isVictim || pod.metadata.deletionTimestamp !== undefined)) return [];
      if (!isVictim) return [pod];
      const metadata = { ...pod.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' };
      return [{ ...pod, metadata, status: { ...pod.status, conditions: [TARGET] } }];
    };
    const added = decisions.flatMap((one) => (one.kind === 'assign' ? [assigned(one.pod.pod, one.nodeName)] : []));
    const left = decisions.flatMap((one): readonly Pod[] => {
      if (one.kind !== 'refuse') return [];
      const { nominatedNodeName: _, ...status } = one.pod.pod.status ?? {};
      const nomination = one.nominatedTo === '' ? {} : { nominatedNodeName: one.nominatedTo };
      return [{ ...one.pod.pod, status: { ...status, ...nomination } }];
    });
    return { ...cluster, pods: [...cluster.pods.flatMap(leave), ...added], waiting: left };
  }

  const cpuOf = (pod: Pod) => createPodInfo(pod).requests['cpu'] ?? 0;
  const usedOn = (pods: readonly Pod[], node: string) =>
    pods.filter(({ spec }) => spec?.nodeName === node).reduce((sum, pod) => sum + cpuOf(pod), 0);
  const find = (pods: readonly Pod[], name: string) =>
    must(
      pods.find(({ metadata }) => metadata.name === name),
      name,
    );

  it('never plans two pods into the same room, and evicts only pods of lower priority, once', () => {
    fc.assert(
      fc.property(world, (drawn) => {
        const cluster = clusterOf(drawn);
        const decisions = plan(cluster);
        const all: string[] = [];
        for (const decision of decisions) {
          for (const victim of victimsOf(decision) ?? []) {
            all.push(victim);
            const { spec, metadata } = find(cluster.pods, victim);
            expect(spec?.priority).toBeLessThan(decision.pod.priority);
            expect(spec?.nodeName).toBe(decision.kind === 'refuse' && decision.nominatedTo);
            expect(metadata.deletionTimestamp).toBeUndefined();
          }
        }
        expect(new Set(all).size).toBe(all.length);
        const now = apply(cluster, decisions, 'terminating');
        for (const node of ['a', 'b', 'c']) expect(usedOn(now.pods, node)).toBeLessThanOrEqual(2000);
        // The pods nominated in this cycle fit together, once all leaving pods are gone.
        const later = apply(cluster, decisions, 'gone');
        const preemptors = decisions.filter((one) => victimsOf(one) !== undefined);
        for (const node of ['a', 'b', 'c']) {
          const nominated = preemptors.filter((one) => one.kind === 'refuse' && one.nominatedTo === node);
          const wanted = nominated.reduce((sum, { pod }) => sum + (pod.requests['cpu'] ?? 0), 0);
          if (wanted > 0) expect(usedOn(later.pods, node) + wanted).toBeLessThanOrEqual(2000);
        }
      }),
    );
  });

  it('spares every pod that can be spared', () => {
    fc.assert(
      fc.property(world, (drawn) => {
        const cluster = clusterOf(drawn);
        const [pod] = cluster.waiting;
        if (pod === undefined) return;
        const alone = { ...cluster, waiting: [pod] };
        const [decision] = plan(alone);
        const victims = victimsOf(decision) ?? [];
        if (decision?.kind !== 'refuse') return;
        const later = apply(alone, [decision], 'gone');
        for (const victim of victims) {
          const used = usedOn(later.pods, decision.nominatedTo) + cpuOf(find(cluster.pods, victim));
          expect(used + cpuOf(pod)).toBeGreaterThan(2000);
        }
      }),
    );
  });

  /** The budgets here allow no disruption. For others, the number of remaining pods depends on which ones are counted first. */
  it('evicts a pod whose budget allows no disruption only when there is no room on any node without that', () => {
    fc.assert(
      fc.property(world, (drawn) => {
        const cluster = clusterOf({ ...drawn, allowed: drawn.allowed.map((allowed) => (allowed === 0 ? 0 : 99)) });
        const [pod] = cluster.waiting;
        if (pod === undefined) return;
        const closed = cluster.budgets.filter(({ status }) => status?.disruptionsAllowed === 0);
        const isProtected = ({ metadata }: Pod) => closed.some((one) => one.metadata.name === metadata.labels?.['app']);
        const victims = victimsOf(plan({ ...cluster, waiting: [pod] })[0]) ?? [];
        if (!victims.some((name) => isProtected(find(cluster.pods, name)))) return;
        const stays = (one: Pod) =>
          (one.spec?.priority ?? 0) >= (pod.spec?.priority ?? 0) ||
          (isProtected(one) && one.metadata.deletionTimestamp === undefined);
        for (const node of ['a', 'b', 'c'])
          expect(usedOn(cluster.pods.filter(stays), node) + cpuOf(pod)).toBeGreaterThan(2000);
      }),
    );
  });

  it('planned again while its victims terminate evicts nothing more', () => {
    fc.assert(
      fc.property(world, (drawn) => {
        const cluster = clusterOf(drawn);
        const decisions = plan(cluster);
        const next = plan({ ...apply(cluster, decisions, 'terminating'), seed: drawn.seed + 1 });
        const preempted = new Set(
          decisions.filter((one) => (victimsOf(one) ?? []).length > 0).map(({ pod }) => pod.key),
        );
        for (const decision of next) {
          if (preempted.has(decision.pod.key)) expect(victimsOf(decision) ?? []).toEqual([]);
        }
      }),
    );
  });

  it('ends: every pod with victims gets its room when they are gone', () => {
    fc.assert(
      fc.property(world, (drawn) => {
        const cluster = clusterOf(drawn);
        const decisions = plan(cluster);
        // An earlier nomination may be withdrawn, which leaves room for a pod of higher priority.
        if (cluster.waiting.some(({ status }) => status?.nominatedNodeName !== undefined)) return;
        const preempted = decisions.filter((one) => (victimsOf(one) ?? []).length > 0).map(({ pod }) => pod.key);
        const next = plan({ ...apply(cluster, decisions, 'gone'), seed: drawn.seed + 1 });
        for (const decision of next) if (preempted.includes(decision.pod.key)) expect(decision.kind).toBe('assign');
      }),
    );
  });
});
