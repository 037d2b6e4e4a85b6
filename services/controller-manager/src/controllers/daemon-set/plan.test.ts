import { formatTime } from '@gantry/base';
import {
  controllerReference,
  type DaemonSet,
  type DaemonSetSpec,
  type Node,
  type Pod,
  type PodSpec,
  type Taint,
} from '@gantry/objects';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isAvailable } from '../../libraries/pods/pod-state.ts';
import CASES from './cases.json' with { type: 'json' };
import { daemonPodMaker, HASH_LABEL, placementOf, targetNode } from './placement.ts';
import { type Action, BURST, planDaemonSet } from './plan.ts';
import { DaemonWorld, exampleNode, exampleSet, START, TEMPLATE } from './testing/world.ts';

const kinds = (actions: readonly Action[]) => actions.map(({ kind }) => kind);

describe('the place of a pod', () => {
  it.each(CASES.placement)('on $about: $expect', ({ spec, labels, taints, expect: expected }) => {
    const set = exampleSet();
    const template = { ...TEMPLATE, spec: { containers: [], ...(spec as Partial<PodSpec> | undefined) } };
    const place = placementOf({ ...set, spec: { ...set.spec, selector: {}, template } });
    const node = exampleNode('n', labels, taints);
    expect(place(node)).toBe(expected);
  });
});

describe('the pod of a node', () => {
  const podOf = (spec: Partial<PodSpec>, annotations?: Record<string, string>) => {
    const set = exampleSet();
    const template = { metadata: { labels: { app: 'a' } }, spec: { containers: [], ...spec } };
    const metadata = { ...set.metadata, ...(annotations === undefined ? {} : { annotations }) };
    return daemonPodMaker({ ...set, metadata, spec: { selector: {}, template } }, 'h1')('n');
  };
  const term = (name: string) => ({ matchFields: [{ key: 'metadata.name', operator: 'In', values: [name] }] });

  it('names its node in place of the terms of the template, and keeps the rest of the affinity', () => {
    const required = { nodeSelectorTerms: [{ matchExpressions: [{ key: 'disk', operator: 'Exists' }] }, term('m')] };
    const preferred = [{ weight: 1, preference: term('m') }];
    const podAntiAffinity = { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'zone' }] };
    const nodeAffinity = {
      requiredDuringSchedulingIgnoredDuringExecution: required,
      preferredDuringSchedulingIgnoredDuringExecution: preferred,
    };
    const pod = podOf({ affinity: { nodeAffinity, podAntiAffinity }, nodeSelector: { disk: 'ssd' } });
    expect(pod.spec?.affinity).toEqual({
      nodeAffinity: {
        ...nodeAffinity,
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term('n')] },
      },
      podAntiAffinity,
    });
    expect(pod.spec?.nodeSelector).toEqual({ disk: 'ssd' });
    expect(targetNode(pod)).toBe('n');
  });

  it('has the labels of its revision and, where there is one, of the counter of templates', () => {
    expect(podOf({}).metadata.labels).toEqual({ app: 'a', [HASH_LABEL]: 'h1' });
    expect(podOf({}, { 'deprecated.daemonset.template.generation': '7' }).metadata.labels).toEqual({
      app: 'a',
      [HASH_LABEL]: 'h1',
      'pod-template-generation': '7',
    });
    expect(podOf({}, { 'deprecated.daemonset.template.generation': 'x' }).metadata.labels).not.toHaveProperty(
      'pod-template-generation',
    );
  });

  it('has the tolerations of the template and those of every daemon, which replace those that end', () => {
    const own = { key: 'k', operator: 'Exists' };
    const ending = {
      key: 'node.kubernetes.io/not-ready',
      operator: 'Exists',
      effect: 'NoExecute',
      tolerationSeconds: 5,
    };
    const texts = podOf({ tolerations: [ending, own] }).spec?.tolerations?.map(
      ({ key, effect, tolerationSeconds }) => `${key ?? ''}:${effect ?? ''}:${tolerationSeconds ?? 'for ever'}`,
    );
    expect(texts).toEqual([
      'node.kubernetes.io/not-ready:NoExecute:for ever',
      'k::for ever',
      'node.kubernetes.io/unreachable:NoExecute:for ever',
      'node.kubernetes.io/disk-pressure:NoSchedule:for ever',
      'node.kubernetes.io/memory-pressure:NoSchedule:for ever',
      'node.kubernetes.io/pid-pressure:NoSchedule:for ever',
      'node.kubernetes.io/unschedulable:NoSchedule:for ever',
    ]);
    const host = podOf({ hostNetwork: true }).spec?.tolerations?.at(-1);
    expect(host).toEqual({ key: 'node.kubernetes.io/network-unavailable', operator: 'Exists', effect: 'NoSchedule' });
  });

  it('is found by the node that it is bound to, else by the one name that it gives', () => {
    const required = (nodeSelectorTerms: object[]) => ({
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } },
    });
    const target = (spec: object) =>
      targetNode({ apiVersion: 'v1', kind: 'Pod', metadata: {}, spec: { containers: [], ...spec } });
    expect(target({ nodeName: 'x', affinity: required([term('n')]) })).toBe('x');
    expect(target({ affinity: required([{ matchExpressions: [] }, term('n')]) })).toBe('n');
    const two = { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n', 'm'] }] };
    expect(target({ affinity: required([two]) })).toBeUndefined();
    expect(target({})).toBeUndefined();
  });
});

/** A pod of a case. By default it is bound to node `a`, is running, and has the current revision. */
interface CasePod {
  readonly name: string;
  readonly node?: string;
  readonly bound?: boolean;
  readonly phase?: string;
  readonly deleting?: boolean;
  readonly hash?: string;
  /** For how many seconds it has been ready. */
  readonly ready?: number | null;
  /** Seconds after the start. */
  readonly created?: number;
}

const NOW = START + 100_000;

function casePod(set: DaemonSet, hash: string, of: CasePod): Pod {
  const { name, node = 'a', bound = true, phase = 'Running', deleting = false, ready, created = 1 } = of;
  const made = daemonPodMaker(set, of.hash ?? hash)(node);
  const at = typeof ready === 'number' ? formatTime(NOW - ready * 1000) : undefined;
  return {
    ...made,
    metadata: {
      ...made.metadata,
      name,
      uid: name,
      creationTimestamp: new Date(START + created * 1000).toISOString(),
      ...(deleting ? { deletionTimestamp: formatTime(NOW) } : {}),
      ownerReferences: [controllerReference(set)],
    },
    spec: { containers: [], ...made.spec, ...(bound ? { nodeName: node } : {}) },
    status: {
      phase,
      ...(at === undefined ? {} : { conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: at }] }),
    },
  };
}

describe('what a node needs', () => {
  it.each(CASES.nodes)('$about', (one) => {
    const {
      pods,
      create = [],
      remove = [],
      effect,
      surge = 0,
      minReadySeconds = 0,
      backsOff = false,
    } = one as {
      pods: CasePod[];
      create?: string[];
      remove?: string[];
      effect?: string;
      surge?: number;
      minReadySeconds?: number;
      backsOff?: boolean;
    };
    const set = exampleSet({
      minReadySeconds,
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: surge, maxUnavailable: surge > 0 ? 0 : 1 } },
    });
    const world = new DaemonWorld(set);
    world.settleHistory();
    const node = exampleNode('a', {}, effect === undefined ? [] : [{ key: 'k', effect }]);
    const { actions } = planDaemonSet(
      {
        set: world.set,
        nodes: [node],
        pods: pods.map((pod) => casePod(set, world.hash, pod)),
        revisions: world.revisions,
        failedUntil: () => (backsOff ? NOW + 1000 : undefined),
      },
      NOW,
    );
    const created = actions.flatMap((action) => (action.kind === 'createPods' ? action.pods.map(targetNode) : []));
    const removed = actions.flatMap((action) =>
      action.kind === 'deletePods' ? action.deletions.map(({ pod }) => pod.metadata.name) : [],
    );
    expect(created).toEqual(create);
    expect(removed.sort()).toEqual(remove);
  });
});

describe('a step of an update replaces', () => {
  it.each(CASES.updates)('$about', (one) => {
    const {
      nodes: count,
      type = 'RollingUpdate',
      unavailable = 0,
      surge = 0,
      minReadySeconds = 0,
    } = one as {
      nodes: number;
      type?: string;
      unavailable?: number | string;
      surge?: number | string;
      minReadySeconds?: number;
    };
    const { old, new: fresh = [] } = one as { old: (number | null)[]; new?: (number | null)[] };
    const rollingUpdate = { maxSurge: surge, maxUnavailable: unavailable };
    const set = exampleSet({ minReadySeconds, updateStrategy: { type, rollingUpdate } });
    const world = new DaemonWorld(set);
    world.settleHistory();
    const states = [
      ...old.map((ready) => ({ ready, hash: 'old' })),
      ...fresh.map((ready) => ({ ready, hash: world.hash })),
    ];
    const placed = states
      .slice(0, count)
      .map((state, i) => casePod(set, world.hash, { name: `p${i}`, node: `n${i}`, ...state }));
    const observed = {
      set: world.set,
      nodes: placed.map((pod) => exampleNode(targetNode(pod) ?? '')),
      pods: placed,
      revisions: world.revisions,
      failedUntil: () => undefined,
    };
    const { actions } = planDaemonSet(observed, NOW);
    const counts = { create: 0, remove: 0 };
    for (const action of actions) {
      if (action.kind === 'createPods') counts.create += action.pods.length;
      if (action.kind === 'deletePods') counts.remove += action.deletions.length;
    }
    const { create = 0, remove = 0 } = one as { create?: number; remove?: number };
    expect(counts).toEqual({ create, remove });
  });

  it('available pods on nodes where the set no longer runs, when enough others are available', () => {
    const set = exampleSet({
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    });
    const world = new DaemonWorld(set);
    world.settleHistory();
    const tainted = exampleNode('a', {}, [{ key: 'k', effect: 'NoSchedule' }]);
    const removed = (readyOnB: number | null) => {
      const pods = [
        casePod(set, world.hash, { name: 'on-a', node: 'a', hash: 'old', ready: 9 }),
        casePod(set, world.hash, { name: 'on-b', node: 'b', ready: readyOnB }),
      ];
      const nodes = [tainted, exampleNode('b')];
      const observed = { set: world.set, nodes, pods, revisions: world.revisions, failedUntil: () => undefined };
      const { actions } = planDaemonSet(observed, NOW);
      return actions.flatMap((action) =>
        action.kind === 'deletePods' ? action.deletions.map(({ pod }) => pod.metadata.name) : [],
      );
    };
    expect(removed(9)).toEqual(['on-a']);
    expect(removed(null)).toEqual([]);
  });
});

describe('a set', () => {
  it('that is being deleted is left alone, and one that selects everything is reported', () => {
    const world = new DaemonWorld(exampleSet());
    world.nodes = [exampleNode('a')];
    const deleting = { ...world.set, metadata: { ...world.set.metadata, deletionTimestamp: formatTime(NOW) } };
    expect(planDaemonSet({ ...world.observed(), set: deleting }, NOW).actions).toEqual([]);
    const greedy = { ...world.set, spec: { selector: {}, template: TEMPLATE } };
    expect(kinds(planDaemonSet({ ...world.observed(), set: greedy }, NOW).actions)).toEqual(['reportSelectingAll']);
  });

  it('creates no more than a burst at once', () => {
    const world = new DaemonWorld(exampleSet());
    world.nodes = Array.from({ length: BURST + 50 }, (_, i) => exampleNode(`n${i}`));
    expect(world.step()).toBe(true);
    expect(world.pods).toHaveLength(BURST);
    world.settle();
    expect(world.pods).toHaveLength(BURST + 50);
  });

  it('adopts what it selects and releases what it no longer does', () => {
    const world = new DaemonWorld(exampleSet());
    world.nodes = [exampleNode('a'), exampleNode('b')];
    world.settle();
    const [first, second] = world.pods;
    if (first === undefined || second === undefined) throw new Error('two pods');
    delete first.metadata.ownerReferences;
    second.metadata.labels = { other: 'label' };
    world.settle();
    expect(first.metadata.ownerReferences).toHaveLength(1);
    expect(second.metadata.ownerReferences).toEqual([]);
    expect(world.owned().map((pod) => targetNode(pod))).toEqual(['a', 'b']);
  });

  it('looks again when a pod becomes available, and when a failed pod may be deleted', () => {
    const set = exampleSet({ minReadySeconds: 30 });
    const world = new DaemonWorld(set);
    world.nodes = [exampleNode('a'), exampleNode('b')];
    world.settle();
    const ready = casePod(set, world.hash, { name: 'p', node: 'a', ready: 10 });
    const failed = casePod(set, world.hash, { name: 'q', node: 'b', phase: 'Failed' });
    const observed = { ...world.observed(), pods: [ready, failed] };
    expect(planDaemonSet({ ...observed, failedUntil: () => undefined }, NOW).requeueAt).toBe(NOW + 20_000);
    const waiting = (name: string) => (name === 'b' ? NOW + 4000 : undefined);
    expect(planDaemonSet({ ...observed, failedUntil: waiting }, NOW).requeueAt).toBe(NOW + 4000);
  });

  it('counts its nodes and pods', () => {
    const set = exampleSet({ minReadySeconds: 5 });
    const world = new DaemonWorld(set);
    world.settleHistory();
    world.nodes = [
      ...['a', 'b', 'c', 'd'].map((name) => exampleNode(name)),
      exampleNode('kept', {}, [{ key: 'k', effect: 'NoSchedule' }]),
      exampleNode('free', {}, [{ key: 'k', effect: 'NoSchedule' }]),
    ];
    world.pods = [
      casePod(set, world.hash, { name: 'a', node: 'a', ready: 9 }),
      casePod(set, world.hash, { name: 'b', node: 'b', ready: 3, hash: 'old' }),
      casePod(set, world.hash, { name: 'c', node: 'c' }),
      casePod(set, world.hash, { name: 'kept', node: 'kept', ready: 9 }),
    ];
    const { actions } = planDaemonSet(world.observed(), NOW);
    expect(actions.find(({ kind }) => kind === 'updateStatus')).toEqual({
      kind: 'updateStatus',
      status: {
        desiredNumberScheduled: 4,
        currentNumberScheduled: 3,
        numberMisscheduled: 1,
        numberReady: 2,
        numberAvailable: 1,
        numberUnavailable: 3,
        updatedNumberScheduled: 2,
        observedGeneration: 1,
      },
    });
  });
});

describe('any cluster', () => {
  const taints = fc.constantFrom<Taint[]>(
    [],
    [{ key: 'k', effect: 'NoSchedule' }],
    [{ key: 'k', effect: 'NoExecute' }],
  );
  const nodes = fc.array(fc.record({ taints, labelled: fc.boolean() }), { minLength: 1, maxLength: 7 });
  const strategies = fc.oneof(
    fc.constant({ type: 'OnDelete' }),
    fc.record({
      type: fc.constant('RollingUpdate'),
      rollingUpdate: fc.oneof(
        fc.record({ maxUnavailable: fc.constantFrom(1, 2, '30%'), maxSurge: fc.constant(0) }),
        fc.record({ maxUnavailable: fc.constant(0), maxSurge: fc.constantFrom(1, '50%') }),
      ),
    }),
  );
  const specs: fc.Arbitrary<Partial<DaemonSetSpec>> = fc.record({
    updateStrategy: strategies,
    minReadySeconds: fc.constantFrom(0, 5),
  });
  const events = fc.array(
    fc.oneof(
      fc.record({ kind: fc.constant('image' as const), image: fc.constantFrom('app:1', 'app:2', 'app:3') }),
      fc.record({
        kind: fc.constantFrom('fail' as const, 'delete' as const, 'unready' as const, 'succeed' as const),
        index: fc.nat(9),
      }),
      fc.record({ kind: fc.constant('retaint' as const), index: fc.nat(9), taints }),
      fc.record({ kind: fc.constant('step' as const) }),
      fc.record({ kind: fc.constant('kubelet' as const) }),
    ),
    { maxLength: 20 },
  );
  const build = (spec: Partial<DaemonSetSpec>, of: readonly { taints: Taint[]; labelled: boolean }[]) => {
    const world = new DaemonWorld(
      exampleSet({ ...spec, template: { ...TEMPLATE, spec: { containers: [], nodeSelector: { on: 'yes' } } } }),
    );
    world.nodes = of.map((node, i): Node => exampleNode(`n${i}`, node.labelled ? { on: 'yes' } : {}, node.taints));
    return world;
  };

  it('comes to rest with one pod of the present template on each node, whatever has happened', () => {
    fc.assert(
      fc.property(specs, nodes, events, (spec, of, history) => {
        const world = build(spec, of);
        for (const event of history) world.happen(event);
        world.settle();
        const place = placementOf(world.set);
        const wanted = world.nodes.filter((node) => place(node) === 'run').map(({ metadata }) => metadata.name);
        const onNode = world.living().map(targetNode);
        expect(new Set(onNode).size).toBe(onNode.length);
        expect(new Set(onNode)).toEqual(new Set([...wanted, ...onNode.filter((name) => world.keeps(name))]));
        if (spec.updateStrategy?.type === 'RollingUpdate')
          for (const pod of world.living().filter((one) => wanted.includes(targetNode(one) ?? '')))
            expect(pod.metadata.labels?.[HASH_LABEL]).toBe(world.hash);
        expect(world.set.status).toMatchObject({ desiredNumberScheduled: wanted.length, numberReady: wanted.length });
        expect(planDaemonSet(world.observed(), world.now).actions).toEqual([]);
      }),
      { seed: 7, numRuns: 300 },
    );
  });

  it('never has two running pods on a node without surge, nor more unavailable ones than an update may make', () => {
    fc.assert(
      fc.property(specs, nodes, events, (spec, of, history) => {
        const world = build(spec, of);
        world.settle();
        const { maxSurge = 0, maxUnavailable = 1 } = spec.updateStrategy?.rollingUpdate ?? {};
        const most = world.living().length;
        const share = (value: number | string) =>
          typeof value === 'number' ? value : Math.ceil((Number.parseInt(value, 10) * most) / 100);
        world.onChange = () => {
          const onNode = world.pods.map(targetNode);
          if (share(maxSurge) === 0) expect(new Set(onNode).size).toBe(onNode.length);
          const up = world.living().filter((pod) => isAvailable(pod, spec.minReadySeconds ?? 0, world.now));
          expect(up.length).toBeGreaterThanOrEqual(most - (share(maxSurge) > 0 ? 0 : share(maxUnavailable)));
        };
        for (const event of history.filter(({ kind }) => kind === 'image' || kind === 'step' || kind === 'kubelet'))
          world.happen(event);
        world.settle();
      }),
      { seed: 7, numRuns: 300 },
    );
  });
});
