import { type Container, HOSTNAME_LABEL, type Pod, type PodSpec } from '@gantry/objects';
import { expect, it, vi } from 'vitest';
import { createPodInfo } from './framework/pod-info.ts';
import { type Decision, planAssignments } from './plan.ts';
import { FILTERS } from './plugins/registry.ts';
import { apart, exampleTerm, near } from './testing/affinity-examples.ts';
import { exampleNode, examplePod, exampleSnapshot } from './testing/examples.ts';
import { generatedCase } from './testing/reference/generated-case.ts';
import { spreadBy } from './testing/spread-examples.ts';

const named = (pod: Pod, name: string): Pod => ({ ...pod, metadata: { ...pod.metadata, name, uid: `uid-${name}` } });

/** What a decision considered, without the order of nodes. */
function consideredBy(decision: Decision | undefined) {
  if (decision?.kind !== 'assign' && decision?.kind !== 'refuse') throw new Error('not decided');
  const { feasible = [], refusals = [] } = decision.considered ?? {};
  const reasons = refusals.map(({ node, filter, reasons: of }) => `${node.name} ${filter.name} ${of.join()}`);
  return { feasible: [...feasible].sort(), refusals: reasons.sort() };
}

const withSpec =
  (more: Partial<PodSpec>) =>
  (pod: Pod): Pod => ({ ...pod, spec: { containers: [], ...pod.spec, ...more } });
const withContainer = (more: Partial<Container>) => (pod: Pod) => {
  const [first = { name: 'main' }, ...others] = pod.spec?.containers ?? [];
  return withSpec({ containers: [{ ...first, ...more }, ...others] })(pod);
};
const onDisk = (...values: string[]) => ({
  requiredDuringSchedulingIgnoredDuringExecution: {
    nodeSelectorTerms: [{ matchExpressions: [{ key: 'disk', operator: 'In', values }] }],
  },
});

/** Each changes one thing that a filter reads: then the pod must not get the nodes of the unchanged one. */
const CHANGES: readonly ((pod: Pod) => Pod)[] = [
  withSpec({ tolerations: [{ operator: 'Exists' }] }),
  withSpec({ tolerations: [] }),
  withSpec({ nodeSelector: { disk: 'ssd' } }),
  withSpec({ affinity: { nodeAffinity: onDisk('hdd') } }),
  withSpec({ affinity: near(exampleTerm('web', 'disk')) }),
  withSpec({ affinity: apart(exampleTerm('db', 'disk')) }),
  withSpec({ topologySpreadConstraints: [spreadBy('disk')] }),
  withContainer({ ports: [{ containerPort: 80, hostPort: 80 }] }),
  withContainer({ resources: { requests: { cpu: '2' } } }),
  withContainer({ restartPolicy: 'Never', restartPolicyRules: [{ action: 'RestartAllContainers' }] }),
  (pod) => ({ ...pod, metadata: { ...pod.metadata, labels: { app: 'db' } } }),
  (pod) => ({ ...pod, metadata: { ...pod.metadata, namespace: 'other' } }),
];

it('finds the same nodes for equal and similar pods of one cycle as for each of them alone', () => {
  let shared = 0;
  for (let seed = 0; seed < 240; seed++) {
    const { nodes, pods, namespaces, services, pod } = generatedCase(seed);
    const change = CHANGES[seed % CHANGES.length] ?? ((same: Pod) => same);
    const labels = Object.fromEntries(namespaces.map(({ metadata }) => [metadata.name ?? '', metadata.labels ?? {}]));
    // A changed pod and one of another kind come between the equal ones, and change nodes.
    const waiting = [pod, change(pod), pod, generatedCase(seed + 1).pod, pod, change(pod), pod].map((one, i) =>
      named(one, `waiting-${i}`),
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
      if (decision.kind === 'refuse' && decision.preemption.kind === 'possible') break;
      if (decision.kind !== 'assign') continue;
      shared += 1;
      placed.push(withSpec({ nodeName: decision.nodeName })(own));
    }
  }
  expect(shared).toBeGreaterThan(400);
});

it.each([
  ['equal pods', {}],
  ['pods that differ for one filter', apart(exampleTerm('x', HOSTNAME_LABEL))],
])('asks filters about all nodes for the first of %s, and then only about those that got pods', (_, affinity) => {
  const nodes = Array.from({ length: 50 }, (_node, i) =>
    exampleNode(`n${i}`, { labels: { [HOSTNAME_LABEL]: `n${i}` } }),
  );
  const [first, ...others] = FILTERS;
  if (first === undefined) throw new Error('there are no filters');
  const filter = vi.fn(first.filter);
  const filters = [{ ...first, filter }, ...others];
  const pods = Array.from({ length: 10 }, (_pod, i) =>
    createPodInfo(examplePod(`p${i}`, { cpu: '100m', owner: 'rs', labels: { app: 'x' }, spec: { affinity } })),
  );
  const decisions = planAssignments(exampleSnapshot(nodes), pods, 1, { filters, scores: [] });
  expect(decisions.map(({ kind }) => kind)).toEqual(pods.map(() => 'assign'));
  expect(filter).toHaveBeenCalledTimes(50 + 9);
});

it('searches again when too few nodes of the shared search are left', () => {
  const nodes = Array.from({ length: 150 }, (_, i) => exampleNode(`n${i}`, { pods: '1' }));
  const pods = Array.from({ length: 150 }, (_, i) => createPodInfo(examplePod(`p${i}`)));
  const decisions = planAssignments(exampleSnapshot(nodes), pods, 1);
  expect(new Set(decisions.map((one) => (one.kind === 'assign' ? one.nodeName : one.kind))).size).toBe(150);
});

it('has a search of its own for pods with claims', () => {
  const claims = { kind: 'claims', bound: [], delayed: [], exclusive: 'free' } as const;
  const volumes = [undefined, claims, { ...claims, bound: [undefined] }, { ...claims, exclusive: 'in-use' } as const];
  const pods = volumes.map((of, i) => ({ ...createPodInfo(examplePod(`p${i}`)), volumes: of }));
  // Some nodes get no pod: about these, a filter with a sign would not be asked again.
  const nodes = ['a', 'b', 'c', 'd'].map((name) => exampleNode(name));
  const decisions = planAssignments(exampleSnapshot(nodes), pods, 1);
  expect(decisions.map(({ kind }) => kind)).toEqual(['assign', 'assign', 'refuse', 'refuse']);
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
