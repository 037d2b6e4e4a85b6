import { HOSTNAME_LABEL, type Node, type Pod } from '@gantry/objects';
import { must } from '@gantry/base';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { planAssignments } from './plan.ts';
import type { FilterPlugin } from './framework/plugin.ts';
import { FILTERS } from './plugins/registry.ts';
import { createPodInfo } from './framework/pod-info.ts';
import { exampleNode, examplePod, exampleSnapshot } from './testing/examples.ts';

function decide(nodes: readonly Node[], waiting: readonly Pod[], placed: readonly Pod[] = [], seed = 1) {
  return planAssignments(exampleSnapshot(nodes, placed), waiting.map(createPodInfo), seed);
}

function refusal(nodes: readonly Node[], pod: Pod, placed: readonly Pod[] = []): string {
  const [decision] = decide(nodes, [pod], placed);
  return decision?.kind === 'refuse' ? decision.message : JSON.stringify(decision);
}

const PREEMPTION_VAIN = 'preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.';
const NO_VICTIMS = 'preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.';

describe('the message for an unschedulable pod counts nodes per reason', () => {
  it.each<[string, Node[], Pod, Pod[], string]>([
    ['no nodes', [], examplePod('p'), [], 'no nodes available to schedule pods'],
    [
      'cpu',
      [exampleNode('a', { cpu: '1' })],
      examplePod('p', { cpu: '1100m' }),
      [],
      `0/1 nodes are available: 1 Insufficient cpu. ${PREEMPTION_VAIN}`,
    ],
    [
      'cpu and memory taken by others',
      [exampleNode('a')],
      examplePod('p', { cpu: '1', memory: '1Gi' }),
      [examplePod('x', { cpu: '1500m', memory: '3500Mi', node: 'a' })],
      `0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory. ${NO_VICTIMS}`,
    ],
    [
      'pod count',
      [exampleNode('a', { pods: '1' })],
      examplePod('p'),
      [examplePod('x', { node: 'a' })],
      `0/1 nodes are available: 1 Too many pods. ${NO_VICTIMS}`,
    ],
    [
      'a resource that no node has',
      [exampleNode('a')],
      examplePod('p', {
        spec: { containers: [{ name: 'c', image: 'i', resources: { requests: { 'example.com/gpu': '1' } } }] },
      }),
      [],
      `0/1 nodes are available: 1 Insufficient example.com/gpu. ${PREEMPTION_VAIN}`,
    ],
    [
      'node selector',
      [exampleNode('a', { labels: { disk: 'hdd' } })],
      examplePod('p', { spec: { nodeSelector: { disk: 'ssd' } } }),
      [],
      `0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector. ${PREEMPTION_VAIN}`,
    ],
    [
      'taint',
      [exampleNode('a', { taints: [{ key: 'k', value: 'v', effect: 'NoSchedule' }] })],
      examplePod('p'),
      [],
      `0/1 nodes are available: 1 node(s) had untolerated taint(s). ${PREEMPTION_VAIN}`,
    ],
    [
      'cordon',
      [exampleNode('a', { unschedulable: true })],
      examplePod('p'),
      [],
      `0/1 nodes are available: 1 node(s) were unschedulable. ${PREEMPTION_VAIN}`,
    ],
    [
      'host port',
      [exampleNode('a')],
      examplePod('p', { hostPort: 80 }),
      [examplePod('x', { hostPort: 80, node: 'a' })],
      `0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports. ${NO_VICTIMS}`,
    ],
    [
      'different reasons on different nodes, sorted',
      [
        exampleNode('a', { taints: [{ key: 'k', value: 'v', effect: 'NoExecute' }] }),
        exampleNode('b', { cpu: '500m' }),
      ],
      examplePod('p', { cpu: '1' }),
      [],
      '0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s). ' +
        'preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.',
    ],
  ])('%s', (_, nodes, pod, placed, message) => {
    expect(refusal(nodes, pod, placed)).toBe(message);
  });
});

describe('a pod that names its node', () => {
  const onlyOn = (...names: string[]) => {
    const nodeSelectorTerms = names.map((name) => ({
      matchFields: [{ key: 'metadata.name', operator: 'In', values: [name] }],
    }));
    return { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } };
  };
  const NODES = Array.from({ length: 200 }, (_, i) => exampleNode(`n${i}`, i === 7 ? { cpu: '1' } : {}));

  it('is assigned to it without a look at the other nodes', () => {
    const snapshot = exampleSnapshot(NODES, []);
    const looked: string[] = [];
    const noted = FILTERS.map(
      (one): FilterPlugin => ({
        ...one,
        filter: (pod, node) => {
          looked.push(node.name);
          return one.filter(pod, node);
        },
      }),
    );
    const pods = ['n0', 'n7', 'n199'].map((name) =>
      createPodInfo(examplePod(name, { spec: { affinity: onlyOn(name) } })),
    );
    const decisions = planAssignments(snapshot, pods, 1, { filters: noted, scores: [] });
    expect(decisions.map((one) => one.kind === 'assign' && one.nodeName)).toEqual(['n0', 'n7', 'n199']);
    expect(new Set(looked)).toEqual(new Set(['n0', 'n7', 'n199']));
    expect(looked).toHaveLength(3 * FILTERS.length);
  });

  it.each<[string, Pod, string]>([
    [
      'without room for it',
      examplePod('p', { cpu: '1500m', spec: { affinity: onlyOn('n7') } }),
      "0/200 nodes are available: 1 Insufficient cpu, 199 node(s) didn't satisfy plugin(s) [NodeAffinity]. " +
        'preemption: 0/200 nodes are available: 200 Preemption is not helpful for scheduling.',
    ],
    [
      'that is gone',
      examplePod('p', { spec: { affinity: onlyOn('gone') } }),
      "0/200 nodes are available: 200 node(s) didn't satisfy plugin(s) [NodeAffinity]. " +
        'preemption: 0/200 nodes are available: 200 Preemption is not helpful for scheduling.',
    ],
  ])('%s, is refused with that reason', (_, pod, message) => {
    expect(refusal(NODES, pod)).toBe(message);
    const [decision] = decide(NODES, [pod]);
    expect(decision?.kind === 'refuse' && decision.plugins.has('NodeAffinity')).toBe(true);
  });

  it('is refused when it names two at once', () => {
    const fields = ['n1', 'n2'].map((name) => ({ key: 'metadata.name', operator: 'In', values: [name] }));
    const required = { nodeSelectorTerms: [{ matchFields: fields }] };
    const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } };
    expect(refusal(NODES, examplePod('p', { spec: { affinity } }))).toBe(
      '0/200 nodes are available: pod affinity terms conflict. ' +
        'preemption: 0/200 nodes are available: 200 Preemption is not helpful for scheduling.',
    );
  });
});

describe('a pod is assigned', () => {
  const assigned = (nodes: readonly Node[], pod: Pod, placed: readonly Pod[] = []) =>
    Array.from({ length: 20 }, (_, seed) => {
      const [decision] = decide(nodes, [pod], placed, seed);
      return decision?.kind === 'assign' ? decision.nodeName : undefined;
    });
  const hostname = (name: string) => ({ [HOSTNAME_LABEL]: name });

  it('to a node whose taint it tolerates', () => {
    const taints = [{ key: 'k', value: 'v', effect: 'NoSchedule' }];
    const tolerations = [{ key: 'k', operator: 'Equal', value: 'v', effect: 'NoSchedule' }];
    expect(new Set(assigned([exampleNode('a', { taints })], examplePod('p', { spec: { tolerations } })))).toEqual(
      new Set(['a']),
    );
  });

  it('to a node that its required node affinity selects', () => {
    const nodes = [exampleNode('a', { labels: { zone: '1' } }), exampleNode('b', { labels: { zone: '2', size: '8' } })];
    const term = {
      matchExpressions: [
        { key: 'zone', operator: 'NotIn', values: ['1'] },
        { key: 'size', operator: 'Gt', values: ['4'] },
      ],
    };
    const affinity = {
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } },
    };
    expect(new Set(assigned(nodes, examplePod('p', { spec: { affinity } })))).toEqual(new Set(['b']));
  });

  it('away from others of its owner', () => {
    const nodes = [exampleNode('a', { labels: hostname('a') }), exampleNode('b', { cpu: '1', labels: hostname('b') })];
    const placed = [examplePod('x', { owner: 'rs', node: 'a' })];
    expect(new Set(assigned(nodes, examplePod('p', { owner: 'rs' }), placed))).toEqual(new Set(['b']));
  });

  it('to a node where other pods of its owner terminate', () => {
    const nodes = ['a', 'b'].map((name) => exampleNode(name, { labels: hostname(name) }));
    const ending = ['x', 'y'].map((name) => {
      const one = examplePod(name, { owner: 'rs', node: 'b' });
      return { ...one, metadata: { ...one.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
    });
    const placed = [...ending, examplePod('z', { owner: 'rs', node: 'a' })];
    expect(new Set(assigned(nodes, examplePod('p', { owner: 'rs' }), placed))).toEqual(new Set(['b']));
  });

  it('to the node with most free resources', () => {
    const placed = [examplePod('x', { cpu: '1', node: 'a' })];
    expect(new Set(assigned([exampleNode('a'), exampleNode('b')], examplePod('p'), placed))).toEqual(new Set(['b']));
  });

  it('preferably not to a node with a PreferNoSchedule taint', () => {
    const taints = [{ key: 'k', effect: 'PreferNoSchedule' }];
    expect(new Set(assigned([exampleNode('a', { taints }), exampleNode('b')], examplePod('p')))).toEqual(
      new Set(['b']),
    );
  });

  it('to either of two equal nodes, at random', () => {
    expect(new Set(assigned([exampleNode('a'), exampleNode('b')], examplePod('p')))).toEqual(new Set(['a', 'b']));
  });
});

describe('any plan', () => {
  const nodes = fc
    .array(
      fc.record({ cpu: fc.integer({ min: 1, max: 8 }), pods: fc.integer({ min: 1, max: 6 }), port: fc.boolean() }),
      {
        maxLength: 6,
      },
    )
    .map((specs) => specs.map(({ cpu, pods }, i) => exampleNode(`n${i}`, { cpu: `${cpu}`, pods: `${pods}` })));
  const pods = fc
    .array(
      fc.record({ cpu: fc.integer({ min: 0, max: 4000 }), port: fc.boolean(), owner: fc.constantFrom('x', 'y') }),
      {
        maxLength: 20,
      },
    )
    .map((specs) =>
      specs.map(({ cpu, port, owner }, i) =>
        examplePod(`p${i}`, { cpu: `${cpu}m`, owner, ...(port ? { hostPort: 80 } : {}) }),
      ),
    );

  const apply = (clusterNodes: readonly Node[], waiting: readonly Pod[], seed: number) => {
    const decisions = decide(clusterNodes, waiting, [], seed);
    return waiting.map((pod, i) => {
      const decision = must(decisions[i], 'a decision for each pod');
      return decision.kind === 'assign'
        ? { ...pod, spec: { ...must(pod.spec, 'spec'), nodeName: decision.nodeName } }
        : pod;
    });
  };

  it("never exceeds a node's resources", () => {
    fc.assert(
      fc.property(nodes, pods, fc.integer(), (clusterNodes, waiting, seed) => {
        const after = apply(clusterNodes, waiting, seed);
        for (const node of exampleSnapshot(clusterNodes, after).nodes) {
          expect(node.requested['cpu'] ?? 0).toBeLessThanOrEqual(node.allocatable['cpu'] ?? 0);
          expect(node.pods.size).toBeLessThanOrEqual(node.allocatable['pods'] ?? 0);
          expect([...node.pods.values()].filter((pod) => pod.hostPorts.length > 0).length).toBeLessThanOrEqual(1);
        }
      }),
    );
  });

  it('applied and planned again assigns nothing more', () => {
    fc.assert(
      fc.property(nodes, pods, fc.integer(), (clusterNodes, waiting, seed) => {
        const after = apply(clusterNodes, waiting, seed);
        const left = after.filter((pod) => pod.spec?.nodeName === undefined);
        for (const decision of decide(clusterNodes, left, after, seed + 1)) expect(decision.kind).toBe('refuse');
      }),
    );
  });

  it('can be replayed from snapshot, pods and seed', () => {
    fc.assert(
      fc.property(nodes, pods, fc.integer(), (clusterNodes, waiting, seed) => {
        expect(decide(clusterNodes, waiting, [], seed)).toEqual(decide(clusterNodes, waiting, [], seed));
      }),
    );
  });

  it('does not change its snapshot', () => {
    const snapshot = exampleSnapshot([exampleNode('a')]);
    planAssignments(snapshot, [createPodInfo(examplePod('p'))], 1);
    expect(snapshot.nodes[0]?.pods.size).toBe(0);
  });
});
