import { type Random, seededRandom } from '@gantry/base';
import { HOSTNAME_LABEL, type LabelSelectorRequirement, type Node, type Pod, ZONE_LABEL } from '@gantry/objects';
import { expect, it } from 'vitest';
import { planAssignments } from '../plan.ts';
import { apart, exampleTerm, near, preferApart, preferNear } from '../testing/affinity-examples.ts';
import { exampleNode, examplePod } from '../testing/examples.ts';
import { spreadBy } from '../testing/spread-examples.ts';
import { AffinityCounts } from './affinity-counts.ts';
import { KeptCounts } from './kept-counts.ts';
import { createPodInfo, type PodInfo, type TermCount } from './pod-info.ts';
import { type ClusterSnapshot, SnapshotKeeper } from './snapshot.ts';
import { SpreadCounts } from './spread-counts.ts';

const selecting = (...matchExpressions: LabelSelectorRequirement[]) =>
  exampleTerm('', ZONE_LABEL, { labelSelector: { matchExpressions } });
const TEAM = { namespaceSelector: { matchLabels: { team: 'red' } } };
const ANYWAY = { whenUnsatisfiable: 'ScheduleAnyway' } as const;
const AFFINITIES = [
  near(exampleTerm('web', ZONE_LABEL)),
  near(exampleTerm('web', ZONE_LABEL), exampleTerm('web', HOSTNAME_LABEL, { namespaces: ['default', 'other'] })),
  apart(exampleTerm('web', HOSTNAME_LABEL)),
  apart(exampleTerm('db', ZONE_LABEL, TEAM)),
  preferNear(3, exampleTerm('web', ZONE_LABEL, TEAM)),
  preferApart(3, exampleTerm('web', ZONE_LABEL)),
  apart(selecting({ key: 'app', operator: 'In', values: ['web', 'db'] })),
  apart(selecting({ key: 'app', operator: 'NotIn', values: ['web'] }), selecting()),
  near(selecting({ key: 'app', operator: 'Exists' }), exampleTerm('db', ZONE_LABEL)),
  near({ topologyKey: ZONE_LABEL }),
];
const SPREADS = [
  [spreadBy(ZONE_LABEL)],
  [spreadBy(HOSTNAME_LABEL, { nodeTaintsPolicy: 'Honor' }), spreadBy(ZONE_LABEL)],
  [spreadBy(ZONE_LABEL, ANYWAY), spreadBy(HOSTNAME_LABEL, ANYWAY)],
  [spreadBy(ZONE_LABEL, { nodeTaintsPolicy: 'Honor', nodeAffinityPolicy: 'Ignore', ...ANYWAY })],
];

/** Makes a keeper's cluster change at random. Names are few, so that the changes meet. */
class ChangingCluster {
  readonly keeper = new SnapshotKeeper();
  readonly #random: Random;
  readonly #assumed = new Set<PodInfo>();

  constructor(random: Random) {
    this.#random = random;
  }

  pick<T>(...[first, ...others]: [T, ...T[]]): T {
    return [first, ...others][Math.floor(this.#random() * (others.length + 1))] ?? first;
  }

  change(): void {
    const { keeper } = this;
    const assumed = [...this.#assumed].at(-1);
    this.pick(
      () => keeper.setNode(this.#node()),
      () => keeper.removeNode(this.pick('a', 'b', 'c', 'd')),
      () => keeper.setPod(this.pod(this.pick('a', 'b', 'c', 'd', 'e'))),
      () => keeper.setPod(this.pod(this.pick('a', 'b', 'c', 'd', 'e'))),
      () => keeper.removePod(`${this.pick('default', 'other')}/${this.#name()}`),
      () => this.#assume(createPodInfo(this.pod())),
      () => this.#assume(createPodInfo(this.pod())),
      () => assumed !== undefined && this.#assumed.delete(assumed) && keeper.forget(assumed),
      () => keeper.setNamespace(this.pick('default', 'other'), this.pick({ team: 'red' }, { team: 'blue' }, undefined)),
      () => planAssignments(keeper.snapshot(), [createPodInfo(this.pod()), createPodInfo(this.pod())], 1),
    )();
  }

  #assume(info: PodInfo): void {
    this.#assumed.add(info);
    this.keeper.assume(info, this.pick('a', 'b', 'c', 'd'));
  }

  #name(): string {
    return this.pick('p1', 'p2', 'p3', 'p4', 'p5', 'p6');
  }

  #node(): Node {
    const name = this.pick('a', 'b', 'c', 'd');
    const labels = this.pick<Record<string, string>>({}, { [ZONE_LABEL]: 'x' }, { [ZONE_LABEL]: 'y' }, { disk: 'ssd' });
    const taints = this.pick([], [{ key: 'gone', effect: 'NoSchedule' }]);
    return exampleNode(name, { labels: { [HOSTNAME_LABEL]: name, ...labels }, taints });
  }

  /** A pod of a few labels, owners, terms and constraints. It waits when it has no node. */
  pod(node?: string): Pod {
    const pod = examplePod(this.#name(), {
      namespace: this.pick('default', 'other'),
      labels: { app: this.pick('web', 'web', 'db') },
      owner: this.pick(undefined, 'rs'),
      ...(node === undefined ? {} : { node }),
      spec: {
        ...this.pick({}, { affinity: this.pick(...(AFFINITIES as [(typeof AFFINITIES)[0]])) }),
        ...this.pick({}, { topologySpreadConstraints: this.pick(...(SPREADS as [(typeof SPREADS)[0]])) }),
        ...this.pick({}, {}, { nodeSelector: { disk: 'ssd' } }),
      },
    });
    const deletionTimestamp = this.pick(undefined, undefined, '2026-01-01T00:00:00Z');
    const metadata = { ...pod.metadata, ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }) };
    return { ...pod, metadata, status: { phase: this.pick('Running', 'Running', 'Succeeded') } };
  }
}

const sorted = (byValue: ReadonlyMap<string, number> | undefined) => [...(byValue ?? [])].sort();
const ofTerms = (counts: readonly TermCount[]) =>
  counts.map(({ term, byValue }) => [term.id, sorted(byValue)] as const).sort(([a], [b]) => (a < b ? -1 : 1));

/** What the counts say for a pod. */
function shown({ neighbours, spreading }: PodInfo): unknown {
  return {
    required: neighbours?.required?.byTerm.map(sorted),
    forbidden: neighbours?.forbidden.map(({ byTerm }) => byTerm.map(sorted)),
    forbiddenByOthers: ofTerms(neighbours?.forbiddenByOthers ?? []),
    preferred: neighbours?.preferred.map(({ count, weight }) => [weight, count.byTerm.map(sorted)]),
    preferredByOthers: ofTerms(neighbours?.preferredByOthers ?? []),
    spread: spreading?.required.map(({ count, own }) => [
      own,
      sorted(count.byValue),
      ['a', 'b', 'x', 'y'].map((value) => count.leastBeside(value)),
    ]),
    spreadAnyway: spreading?.preferred.map(({ byValue }) => sorted(byValue)),
  };
}

function fromNothing(waiting: PodInfo, { nodes, namespaces, services }: ClusterSnapshot): PodInfo {
  const affinity = new AffinityCounts(namespaces);
  for (const node of nodes) for (const pod of node.pods.values()) affinity.countPod(pod, node, 1);
  return new SpreadCounts().withSpreading(affinity.withNeighbours(waiting, nodes), nodes, services);
}

it('counts that follow random changes are those that are made from nothing', () => {
  let counted = 0;
  for (let seed = 0; seed < 60; seed++) {
    const cluster = new ChangingCluster(seededRandom(seed));
    for (let step = 0; step < 60; step++) {
      cluster.change();
      const waiting = createPodInfo(cluster.pod());
      const snapshot = cluster.keeper.snapshot();
      const { affinity, spread, nodes, services } = snapshot;
      const followed = spread.withSpreading(affinity.withNeighbours(waiting, nodes), nodes, services);
      const made = shown(fromNothing(waiting, snapshot));
      expect(shown(followed), `seed ${seed}, step ${step}`).toEqual(made);
      if (JSON.stringify(made).includes(',1]')) counted += 1;
    }
  }
  expect(counted).toBeGreaterThan(500);
});

it.each([
  ['counts', 2047, 1, 2046],
  ['domains', 9, 100_000, 9],
])('keeps the %s that were asked for last, up to a limit', (_, others, domains, kept) => {
  const forgotten: number[] = [];
  const counts = new KeptCounts<{ readonly id: number; readonly domains: number }>(({ id }) => forgotten.push(id));
  const ask = (id: number) => counts.get(String(id), () => ({ id, domains }));
  for (let id = 0; id <= others; id++) ask(id);
  const first = ask(0);
  ask(-1);
  ask(-2);
  expect(ask(0)).toBe(first);
  expect(forgotten.length).toBeGreaterThan(0);
  expect(forgotten).toEqual(forgotten.map((_id, i) => i + 1));
  expect(counts.asked().length).toBeGreaterThanOrEqual(kept);
});

it('forgets counts that were not asked for between two changes that all have to follow', () => {
  const forgotten: number[] = [];
  const counts = new KeptCounts<{ readonly id: number; readonly domains: number }>(({ id }) => forgotten.push(id));
  const ask = (id: number) => counts.get(String(id), () => ({ id, domains: 1 }));
  const all = [1, 2, 3].map(ask);
  expect(counts.asked()).toEqual(all);
  ask(2);
  expect([counts.asked(), forgotten]).toEqual([[{ id: 2, domains: 1 }], [1, 3]]);
  expect([counts.asked(), forgotten]).toEqual([[], [1, 3, 2]]);
});
