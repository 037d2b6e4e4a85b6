import type { Affinity, Pod, PodAffinityTerm } from '@gantry/objects';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createPodInfo } from './framework/pod-info.ts';
import { planAssignments } from './plan.ts';
import { apart, exampleTerm, near } from './testing/affinity-examples.ts';
import { expectAllowed, type Placed } from './testing/by-the-letter.ts';
import { exampleNode, examplePod, exampleSnapshot } from './testing/examples.ts';

const LABELS: Readonly<Record<string, Record<string, string>>> = {
  a1: { host: 'a1', zone: 'a' },
  a2: { host: 'a2', zone: 'a' },
  b1: { host: 'b1', zone: 'b' },
  none: {},
};
const NODES = Object.entries(LABELS).map(([name, labels]) => exampleNode(name, { labels }));

const app = fc.constantFrom('x', 'y');
const term = fc.tuple(app, fc.constantFrom('zone', 'host')).map(([of, key]) => exampleTerm(of, key));
const affinity = fc.oneof(
  fc.constant<Affinity>({}),
  fc.array(term, { minLength: 1, maxLength: 2 }).map((terms) => near(...terms)),
  fc.array(term, { minLength: 1, maxLength: 2 }).map((terms) => apart(...terms)),
  fc.tuple(term, term).map(([one, other]) => ({ ...near(one), ...apart(other) })),
);
const sketch = fc.record({ app, affinity });

const matches = (one: PodAffinityTerm, { metadata }: Pod) =>
  metadata.labels?.['app'] === one.labelSelector?.matchLabels?.['app'];
const requiredOf = ({ spec }: Pod) => spec?.affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
const forbiddenOf = ({ spec }: Pod) =>
  spec?.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];

/** Whether a node is allowed, checked directly against the rules: each pod is compared with each other pod. */
function isAllowed(pod: Pod, node: string, placed: Placed): boolean {
  const domain = (of: string, { topologyKey }: PodAffinityTerm) => LABELS[of]?.[topologyKey];
  const isTogether = (other: string, one: PodAffinityTerm) =>
    domain(node, one) !== undefined && domain(node, one) === domain(other, one);
  const isApart = placed.every(
    ([other, on]) =>
      !forbiddenOf(pod).some((one) => matches(one, other) && isTogether(on, one)) &&
      !forbiddenOf(other).some((one) => matches(one, pod) && isTogether(on, one)),
  );
  const required = requiredOf(pod);
  const wanted = placed.filter(([other]) => required.every((one) => matches(one, other)));
  const isNear = required.every((one) => wanted.some(([, on]) => isTogether(on, one)));
  const isFirst =
    required.every((one) => matches(one, pod) && domain(node, one) !== undefined) &&
    wanted.every(([, on]) => required.every((one) => domain(on, one) === undefined));
  return isApart && (isNear || isFirst);
}

it('assigns pods with terms to nodes that the rules allow, and refuses none that may go anywhere', () => {
  const seen = { assigned: 0, refused: 0 };
  fc.assert(
    fc.property(
      fc.array(fc.tuple(sketch, fc.constantFrom(...Object.keys(LABELS))), { maxLength: 4 }),
      fc.array(sketch, { minLength: 1, maxLength: 6 }),
      fc.integer(),
      (running, waiting, seed) => {
        const make = (name: string, one: { app: string; affinity: Affinity }, node?: string) =>
          examplePod(name, {
            labels: { app: one.app },
            ...(node === undefined ? {} : { node }),
            spec: { affinity: one.affinity },
          });
        const placed = running.map(([one, node], i) => [make(`r${i}`, one, node), node] as [Pod, string]);
        const pods = waiting.map((one, i) => make(`w${i}`, one));
        expectAllowed({ nodes: NODES, running: placed, waiting: pods, seed }, isAllowed, seen);
      },
    ),
    { numRuns: 500 },
  );
  expect(Math.min(seen.assigned, seen.refused)).toBeGreaterThan(50);
});

it('postpones the rest of a cycle that has compared very many pods with terms', () => {
  const nodes = Array.from({ length: 10 }, (_, i) => exampleNode(`n${i}`, { pods: '200', labels: { host: `n${i}` } }));
  const running = nodes.flatMap((_, i) =>
    Array.from({ length: 101 }, (__, j) => examplePod(`x${i}-${j}`, { node: `n${i}` })),
  );
  const terms = (from: number) => apart(...Array.from({ length: 100 }, (_, i) => exampleTerm(`${from + i}`, 'host')));
  const waiting = Array.from({ length: 12 }, (_, i) => examplePod(`p${i}`, { spec: { affinity: terms(100 * i) } }));
  const decisions = planAssignments(exampleSnapshot(nodes, [...running, ...waiting]), waiting.map(createPodInfo), 1);
  expect(decisions.map(({ kind }) => kind)).toEqual([...Array<string>(10).fill('assign'), 'postpone', 'postpone']);
});

it('refuses a pod with more terms than are counted', () => {
  const terms = Array.from({ length: 101 }, (_, i) => exampleTerm(`${i}`));
  const waiting = [examplePod('p', { spec: { affinity: near(...terms) } })];
  const [decision] = planAssignments(exampleSnapshot(NODES, waiting), waiting.map(createPodInfo), 1);
  expect(decision).toMatchObject({
    kind: 'refuse',
    message: expect.stringContaining(
      'pod has 101 terms of affinity and anti-affinity to pods, more than 100',
    ) as string,
  });
});
