import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { pointsOf } from '../../framework/plugin.ts';
import { createPodInfo } from '../../framework/pod-info.ts';
import { type Decision, planAssignments } from '../../plan.ts';
import { exampleSnapshot } from '../examples.ts';
import { generatedCase } from './generated-case.ts';

/** What the plugins of kube-scheduler 1.36.2 answer for a generated case (`main.go`). Nodes are indexes. */
interface Answer {
  /** The feasible nodes. */
  readonly f: readonly number[];
  /** Of plugins that distinguish the feasible nodes: their points, without the weight. */
  readonly s?: Readonly<Record<string, readonly number[]>>;
  /** The nodes where preemption would make room: the number of violated budgets, and the names of the victims. */
  readonly v?: Readonly<Record<string, string>>;
  /** The nodes that preemption may choose: several when they are equally good. */
  readonly c?: readonly number[];
}

type Made = Decision & { readonly kind: 'assign' | 'refuse' };

const lines = readFileSync(new URL('kube-scheduler-1.36.2.jsonl', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n');
const cases = lines.map((line, seed) => ({ seed, answer: JSON.parse(line) as Answer, decision: decide(seed) }));

function decide(seed: number): Made {
  const { nodes, pods, namespaces, budgets, services, pod } = generatedCase(seed);
  const labels = Object.fromEntries(namespaces.map(({ metadata }) => [metadata.name ?? '', metadata.labels ?? {}]));
  const snapshot = exampleSnapshot(nodes, pods, budgets, labels, services);
  const [decision] = planAssignments(snapshot, [createPodInfo(pod)], seed);
  if (decision?.kind !== 'assign' && decision?.kind !== 'refuse') throw new Error('not decided');
  return decision;
}

/** The cases where `compare` returns a difference. */
function differences(compare: (one: (typeof cases)[number]) => unknown): readonly unknown[] {
  return cases.flatMap((one) => {
    const difference = compare(one);
    return difference === undefined ? [] : [{ seed: one.seed, difference }];
  });
}

const indexOf = (node: string) => Number(node.slice(1));

function feasibleOf({ considered }: Made): readonly number[] {
  return (considered?.feasible ?? []).map(indexOf).sort((a, b) => a - b);
}

/** The points of the plugins that distinguish nodes, in the order of the nodes' names. */
function scoresOf({ considered }: Made): Readonly<Record<string, readonly number[]>> {
  const order = (considered?.feasible ?? []).map((node, at) => ({ at, index: indexOf(node) }));
  order.sort((a, b) => a.index - b.index);
  const sorted = (considered?.scores ?? []).map(({ plugin, points }) => {
    const all = pointsOf(points, order.length);
    return [plugin, order.map(({ at }) => all[at] ?? Number.NaN)] as const;
  });
  return Object.fromEntries(sorted.filter(([, points]) => new Set(points).size > 1));
}

/**
 * Kubernetes does not look at the anti-affinity of a pod that is nominated to a node when neither the new pod has required terms nor any pod on
 * a node has anti-affinity: its plugin skips itself before nominated pods are added. Gantry keeps the new pod away.
 */
const ANTI_AFFINITY_OF_NOMINATED = new Set([3866]);

it('has the nodes of kube-scheduler', () => {
  const found = differences(({ seed, answer: { f }, decision }) => {
    const own = feasibleOf(decision);
    return String(own) === String(f) || ANTI_AFFINITY_OF_NOMINATED.has(seed) ? undefined : { own, kubernetes: f };
  });
  expect(cases).toHaveLength(5000);
  expect(found).toEqual([]);
});

it('has the points of kube-scheduler', () => {
  const found = differences(({ seed, answer: { f, s = {} }, decision }) => {
    if (f.length < 2 || ANTI_AFFINITY_OF_NOMINATED.has(seed)) return undefined;
    const own = scoresOf(decision);
    const plugins = [...new Set([...Object.keys(own), ...Object.keys(s)])];
    const differing = plugins.filter((plugin) => String(own[plugin]) !== String(s[plugin]));
    if (differing.length === 0) return undefined;
    return differing.map((plugin) => ({ plugin, own: String(own[plugin]), kubernetes: String(s[plugin]) }));
  });
  expect(found).toEqual([]);
});

it('has the victims of kube-scheduler, without those that are leaving anyway', () => {
  let fewer = 0;
  const found = differences(({ seed, answer: { f, v, c }, decision }) => {
    if (f.length > 0) return undefined;
    const plan =
      decision.kind === 'refuse' && decision.preemption.kind === 'possible' ? decision.preemption : undefined;
    if (plan === undefined) return c === undefined ? undefined : { own: 'none', kubernetes: v, chosen: c };
    const node = indexOf(plan.nodeName);
    const own = plan.victims.map(({ pod }) => pod.metadata.name ?? '').sort();
    const theirs = v?.[node]?.split(':')[1] ?? '';
    if (c?.includes(node) === true && theirs === own.join(' ')) return undefined;
    // Gantry waits for pods that terminate, where Kubernetes may evict others, and counts them as victims.
    if (
      c?.includes(node) === true &&
      hasTerminating(seed, node) &&
      own.every((name) => theirs.split(' ').includes(name))
    ) {
      fewer += 1;
      return undefined;
    }
    return { node, own, chosen: c, kubernetes: v };
  });
  expect(found).toEqual([]);
  expect(fewer).toBe(27);
});

/** Whether a pod of lower priority terminates on a node. */
function hasTerminating(seed: number, node: number): boolean {
  const { pods, pod } = generatedCase(seed);
  return pods.some(
    ({ metadata, spec }) =>
      metadata.deletionTimestamp !== undefined &&
      spec?.nodeName === `n${node}` &&
      (spec.priority ?? 0) < (pod.spec?.priority ?? 0),
  );
}
