import { HOSTNAME_LABEL, type Pod } from '@gantry/objects';
import { expect, it, vi } from 'vitest';
import { createPodInfo } from './framework/pod-info.ts';
import { type Decision, planAssignments } from './plan.ts';
import { FILTERS } from './plugins/registry.ts';
import { exampleNode, examplePod, exampleSnapshot } from './testing/examples.ts';
import { generatedCase } from './testing/reference/generated-case.ts';

const named = (pod: Pod, name: string): Pod => ({ ...pod, metadata: { ...pod.metadata, name, uid: `uid-${name}` } });

/** What a decision considered, without the order of nodes. */
function consideredBy(decision: Decision | undefined) {
  if (decision?.kind !== 'assign' && decision?.kind !== 'refuse') throw new Error('not decided');
  const { feasible = [], refusals = [] } = decision.considered ?? {};
  const reasons = refusals.map(({ node, plugin, reasons: of }) => `${node.name} ${plugin} ${of.join()}`);
  return { feasible: [...feasible].sort(), refusals: reasons.sort() };
}

it('finds the same nodes for equal pods of one cycle as for each of them alone', () => {
  let shared = 0;
  for (let seed = 0; seed < 150; seed++) {
    const { nodes, pods, namespaces, services, pod } = generatedCase(seed);
    const labels = Object.fromEntries(namespaces.map(({ metadata }) => [metadata.name ?? '', metadata.labels ?? {}]));
    // Pods of another kind come between the equal ones and change nodes.
    const waiting = Array.from({ length: 8 }, (_, i) =>
      named(i % 3 === 2 ? generatedCase(seed + 1).pod : pod, `waiting-${i}`),
    );
    const placed: Pod[] = [...pods];
    const decisions = planAssignments(
      exampleSnapshot(nodes, pods, [], labels, services),
      waiting.map(createPodInfo),
      seed,
    );
    for (const decision of decisions) {
      const own = decision.pod.pod;
      const [alone] = planAssignments(exampleSnapshot(nodes, placed, [], labels, services), [createPodInfo(own)], seed);
      expect(consideredBy(decision), `seed ${seed}, ${own.metadata.name}`).toEqual(consideredBy(alone));
      if (decision.kind !== 'assign') break;
      shared += 1;
      placed.push({ ...own, spec: { containers: [], ...own.spec, nodeName: decision.nodeName } });
    }
  }
  expect(shared).toBeGreaterThan(400);
});

it('looks at all nodes for the first of equal pods, and then only at those that got pods', () => {
  const nodes = Array.from({ length: 50 }, (_, i) => exampleNode(`n${i}`, { labels: { [HOSTNAME_LABEL]: `n${i}` } }));
  const [first, ...others] = FILTERS;
  if (first === undefined) throw new Error('there are no filters');
  const filter = vi.fn(first.filter);
  const filters = [{ ...first, filter }, ...others];
  const pods = Array.from({ length: 10 }, (_, i) => createPodInfo(examplePod(`p${i}`, { cpu: '100m', owner: 'rs' })));
  planAssignments(exampleSnapshot(nodes), pods, 1, { filters, scores: [] });
  expect(filter).toHaveBeenCalledTimes(50 + 9);
});

it('searches again when too few nodes of the shared search are left', () => {
  const nodes = Array.from({ length: 150 }, (_, i) => exampleNode(`n${i}`, { pods: '1' }));
  const pods = Array.from({ length: 150 }, (_, i) => createPodInfo(examplePod(`p${i}`)));
  const decisions = planAssignments(exampleSnapshot(nodes), pods, 1);
  expect(new Set(decisions.map((one) => (one.kind === 'assign' ? one.nodeName : one.kind))).size).toBe(150);
});

it('has a search of its own for pods that a filter without a sign distinguishes', () => {
  const only = {
    name: 'Only',
    filter: ({ key }: { key: string }) => (key === 'default/p0' ? [] : ['no']),
    helps: () => false,
  };
  const pods = ['p0', 'p1'].map((name) => createPodInfo(examplePod(name)));
  const decisions = planAssignments(exampleSnapshot([exampleNode('a')]), pods, 1, {
    filters: [...FILTERS, only],
    scores: [],
  });
  expect(decisions.map(({ kind }) => kind)).toEqual(['assign', 'refuse']);
});
