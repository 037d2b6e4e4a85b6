import type { Pod, TopologySpreadConstraint } from '@gantry/objects';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createPodInfo } from './framework/pod-info.ts';
import { planAssignments } from './plan.ts';
import { expectAllowed, type Placed } from './testing/by-the-letter.ts';
import { exampleNode, examplePod, exampleSnapshot } from './testing/examples.ts';
import { spreadBy } from './testing/spread-examples.ts';

const LABELS: Readonly<Record<string, Record<string, string>>> = {
  a1: { host: 'a1', zone: 'a' },
  a2: { host: 'a2', zone: 'a', disk: 'ssd' },
  b1: { host: 'b1', zone: 'b', disk: 'ssd' },
  c1: { zone: 'c' },
  none: {},
};
const NODES = Object.entries(LABELS).map(([name, labels]) => exampleNode(name, { labels }));

const app = fc.constantFrom('x', 'y');
const constraint = fc.record({
  of: app,
  topologyKey: fc.constantFrom('zone', 'host'),
  maxSkew: fc.constantFrom(1, 2),
  minDomains: fc.constantFrom(1, 3),
  nodeAffinityPolicy: fc.constantFrom('Honor', 'Ignore'),
});
const sketch = fc.record({
  app,
  constraints: fc.array(constraint, { maxLength: 2 }).map((all) =>
    all.map(
      ({ of, ...one }): TopologySpreadConstraint => ({
        ...one,
        whenUnsatisfiable: 'DoNotSchedule',
        labelSelector: { matchLabels: { app: of } },
      }),
    ),
  ),
  disk: fc.constantFrom('', 'ssd'),
});

/** Pods that either each have their own constraints or all have the same ones. */
const waitingPods = fc.oneof(
  fc.array(sketch, { minLength: 1, maxLength: 6 }),
  fc
    .tuple(sketch, fc.array(app, { minLength: 2, maxLength: 6 }))
    .map(([one, apps]) => apps.map((of) => ({ ...one, app: of }))),
);

const selects = ({ labelSelector }: TopologySpreadConstraint, { metadata }: Pod) =>
  metadata.labels?.['app'] === labelSelector?.matchLabels?.['app'];
const isSelectedNode = ({ spec }: Pod, node: string) =>
  Object.entries(spec?.nodeSelector ?? {}).every(([key, value]) => LABELS[node]?.[key] === value);

/** Whether a node is allowed, checked directly against the rules: all pods are counted again. */
function isAllowed(pod: Pod, node: string, placed: Placed): boolean {
  const all = pod.spec?.topologySpreadConstraints ?? [];
  const hasKeys = (name: string) => all.every(({ topologyKey }) => LABELS[name]?.[topologyKey] !== undefined);
  if (!isSelectedNode(pod, node) || !hasKeys(node)) return false;
  return all.every((one) => {
    const spreadOver = Object.keys(LABELS).filter(
      (name) => hasKeys(name) && (one.nodeAffinityPolicy === 'Ignore' || isSelectedNode(pod, name)),
    );
    const domainOf = (name: string) => LABELS[name]?.[one.topologyKey] ?? '';
    const domains = [...new Set(spreadOver.map(domainOf))];
    const countIn = (domain: string) =>
      placed.filter(([other, on]) => selects(one, other) && spreadOver.includes(on) && domainOf(on) === domain).length;
    const fewest = domains.length < (one.minDomains ?? 1) ? 0 : Math.min(...domains.map(countIn));
    return countIn(domainOf(node)) + (selects(one, pod) ? 1 : 0) - fewest <= one.maxSkew;
  });
}

it('assigns pods with constraints to nodes that the rules allow, and refuses none that may go anywhere', () => {
  const seen = { assigned: 0, refused: 0 };
  fc.assert(
    fc.property(
      fc.array(fc.tuple(app, fc.constantFrom(...Object.keys(LABELS))), { maxLength: 6 }),
      waitingPods,
      fc.integer(),
      (running, waiting, seed) => {
        const placed = running.map(
          ([of, node], i) => [examplePod(`r${i}`, { labels: { app: of }, node }), node] as [Pod, string],
        );
        const pods = waiting.map(({ app: of, constraints, disk }, i) =>
          examplePod(`w${i}`, {
            labels: { app: of },
            spec: { topologySpreadConstraints: constraints, ...(disk === '' ? {} : { nodeSelector: { disk } }) },
          }),
        );
        expectAllowed({ nodes: NODES, running: placed, waiting: pods, seed }, isAllowed, seen);
      },
    ),
    { numRuns: 500 },
  );
  expect(Math.min(seen.assigned, seen.refused)).toBeGreaterThan(10);
});

it('postpones the rest of a cycle that has compared very many pods with constraints', () => {
  const names = Array.from({ length: 10 }, (_, i) => `n${i}`);
  const keys = Array.from({ length: 100 }, (_, i) => `key-${i}`);
  const labels = (of: string) => Object.fromEntries(keys.map((key) => [key, of]));
  const nodes = names.map((name) => exampleNode(name, { pods: '200', labels: labels(name) }));
  const running = names.flatMap((node) =>
    Array.from({ length: 101 }, (_, j) => examplePod(`${node}-${j}`, { node, labels: { app: 'x' } })),
  );
  const constraints = (maxSkew: number): TopologySpreadConstraint[] =>
    keys.map((topologyKey) => ({
      topologyKey,
      maxSkew,
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector: { matchLabels: { app: 'x' } },
    }));
  const pods = (of: (maxSkew: number) => TopologySpreadConstraint[]) =>
    Array.from({ length: 12 }, (_, i) => examplePod(`p${i}`, { spec: { topologySpreadConstraints: of(i + 1) } }));
  const kinds = (waiting: readonly Pod[]) =>
    planAssignments(exampleSnapshot(nodes, running), waiting.map(createPodInfo), 1).map(({ kind }) => kind);
  expect(kinds(pods(constraints))).toEqual([...Array<string>(10).fill('assign'), 'postpone', 'postpone']);
  // Nodes without the labels are not compared.
  const elsewhere = (maxSkew: number) =>
    constraints(maxSkew).map((one) => ({ ...one, topologyKey: `other-${one.topologyKey}` }));
  expect(kinds(pods(elsewhere))).toEqual(Array<string>(12).fill('refuse'));
});

it('spreads equal pods of one cycle by constraints that exclude no nodes', () => {
  // By their free share of cpu alone, all pods would go to the large node.
  const nodes = ['1', '64'].map((cpu) => exampleNode(`cpu${cpu}`, { cpu, labels: { zone: cpu } }));
  const constraint = spreadBy('zone', { whenUnsatisfiable: 'ScheduleAnyway' });
  const spec = { topologySpreadConstraints: [constraint] };
  const pods = ['p', 'q'].map((name) => examplePod(name, { cpu: '100m', labels: { app: 'web' }, spec }));
  const decisions = planAssignments(exampleSnapshot(nodes), pods.map(createPodInfo), 1);
  expect(decisions.map((one) => (one.kind === 'assign' ? one.nodeName : one.kind))).toEqual(['cpu64', 'cpu1']);
});
