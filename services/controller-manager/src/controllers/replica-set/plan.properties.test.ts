import { formatTime } from '@gantry/base';
import { controllerReference, type Pod, type ReplicaSet, type ReplicationController } from '@gantry/objects';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isActive, isTerminating } from '../../libraries/pods/pod-state.ts';
import { podFromTemplate } from '../../libraries/pods/pod-template.ts';
import { type Action, BURST, planReplicaSet } from './plan.ts';
import type { PodSet } from './status.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const template = { metadata: { labels: { app: 'a' } } };
const replicaSet: ReplicaSet = {
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  metadata: { name: 'set', namespace: 'n', uid: 'set', generation: 3 },
  spec: { selector: { matchLabels: { app: 'a' } }, template },
};
const replication: ReplicationController = {
  apiVersion: 'v1',
  kind: 'ReplicationController',
  metadata: replicaSet.metadata,
  spec: { selector: { app: 'a' }, template },
};
/** The same set with the same pods, as a ReplicaSet and as a ReplicationController. */
const SETS: readonly PodSet[] = [replicaSet, replication];

const arbitraryPod = fc.record({
  owner: fc.constantFrom('set', 'set', 'set', 'other', undefined),
  app: fc.constantFrom('a', 'a', 'a', 'b'),
  phase: fc.constantFrom('Pending', 'Running', 'Running', 'Succeeded', 'Failed'),
  readyFor: fc.option(fc.integer({ min: 0, max: 60 }), { nil: undefined }),
  deleting: fc.boolean(),
});
const arbitrary = {
  replicas: fc.integer({ min: 0, max: 8 }),
  minReadySeconds: fc.integer({ min: 0, max: 30 }),
  leaving: fc.constantFrom(false, false, true),
  pods: fc.array(arbitraryPod, { maxLength: 12 }),
};
interface Drawn {
  readonly replicas: number;
  readonly minReadySeconds: number;
  readonly leaving: boolean;
  readonly pods: readonly (typeof arbitraryPod extends fc.Arbitrary<infer P> ? P : never)[];
}

const deletion = (when: boolean) => (when ? { deletionTimestamp: formatTime(NOW) } : {});

function draw(base: PodSet, { replicas, minReadySeconds, leaving, pods }: Drawn): { set: PodSet; pods: Pod[] } {
  const spec = { ...base.spec, replicas, minReadySeconds };
  const set = { ...base, metadata: { ...base.metadata, ...deletion(leaving) }, spec } as PodSet;
  const owners = { set, other: { ...set, metadata: { ...set.metadata, name: 'other', uid: 'other' } } };
  return {
    set,
    pods: pods.map(({ owner, app, phase, readyFor, deleting }, i): Pod => {
      const references = owner === undefined ? [] : [controllerReference(owners[owner])];
      const time = formatTime(NOW - (readyFor ?? 0) * 1000);
      const condition = { type: 'Ready', status: readyFor === undefined ? 'False' : 'True', lastTransitionTime: time };
      return {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: `p${i}`, uid: `p${i}`, labels: { app }, ownerReferences: references, ...deletion(deleting) },
        status: { phase, conditions: [condition] },
      };
    }),
  };
}

/** The world after the actions. Deleted pods disappear at once. */
function apply(set: PodSet, pods: readonly Pod[], actions: readonly Action[]): { set: PodSet; pods: Pod[] } {
  let after = [...pods];
  let owner = set;
  const edit = (pod: Pod, ownerReferences: object[]) => {
    const changed = { ...pod, metadata: { ...pod.metadata, ownerReferences } } as Pod;
    after = after.map((one) => (one.metadata.uid === pod.metadata.uid ? changed : one));
  };
  for (const action of actions) {
    if (action.kind === 'adopt') edit(action.pod, [controllerReference(set)]);
    else if (action.kind === 'release') edit(action.pod, []);
    else if (action.kind === 'deletePod')
      after = after.filter(({ metadata }) => metadata.uid !== action.pod.metadata.uid);
    else if (action.kind === 'updateStatus') owner = { ...set, status: action.status };
    else {
      for (let i = 0; i < action.count; i++) {
        const pod = podFromTemplate(set.spec?.template, set);
        after.push({ ...pod, metadata: { ...pod.metadata, uid: `new${after.length}` } });
      }
    }
  }
  return { set: owner, pods: after };
}

const plan = (set: PodSet, pods: readonly Pod[]) =>
  planReplicaSet({ set, pods, relatedPods: pods, failure: undefined }, NOW);
const isOwn = (pod: Pod) => pod.metadata.ownerReferences?.[0]?.uid === 'set' && pod.metadata.labels?.['app'] === 'a';

describe.each(SETS.map((set) => [set.kind, set] as const))('every plan of a %s', (_, base) => {
  const check = (property: (world: { set: PodSet; pods: Pod[] }) => void) =>
    fc.assert(
      fc.property(fc.record(arbitrary), (drawn) => property(draw(base, drawn as Drawn))),
      { seed: 20260101, numRuns: 500 },
    );

  it('reaches the wanted number of active pods, and nothing is left to do', () => {
    check(({ set, pods }) => {
      let world = { set, pods };
      for (let round = 0; round < 3; round++) world = apply(world.set, world.pods, plan(world.set, world.pods).actions);
      expect(plan(world.set, world.pods).actions).toEqual([]);
      if (set.metadata.deletionTimestamp !== undefined) return;
      const active = world.pods.filter((pod) => isOwn(pod) && isActive(pod));
      expect(active).toHaveLength(set.spec?.replicas ?? 1);
    });
  });

  it('never creates and deletes at once, deletes only its own, and no more than are too many', () => {
    check(({ set, pods }) => {
      const { actions } = plan(set, pods);
      const created = actions.flatMap((action) => (action.kind === 'createPods' ? [action.count] : []));
      const gone = actions.flatMap((action) => (action.kind === 'deletePod' ? [action.pod] : []));
      const adopted = actions.flatMap((action) => (action.kind === 'adopt' ? [action.pod] : []));
      expect(Math.min(created.length, gone.length)).toBe(0);
      expect(gone.every((pod) => isOwn(pod) || adopted.includes(pod))).toBe(true);
      expect(gone.every(isActive)).toBe(true);
      expect(gone.length).toBeLessThanOrEqual(BURST);
      if (set.metadata.deletionTimestamp !== undefined) expect([...created, ...gone, ...adopted]).toEqual([]);
    });
  });

  it('counts exactly', () => {
    check(({ set, pods }) => {
      const { set: after } = apply(set, pods, plan(set, pods).actions);
      const leaving = set.metadata.deletionTimestamp !== undefined;
      const isCounted = (pod: Pod) =>
        isActive(pod) &&
        (isOwn(pod) ||
          (!leaving && pod.metadata.ownerReferences?.length === 0 && pod.metadata.labels?.['app'] === 'a'));
      const active = pods.filter(isCounted);
      const readyFor = (pod: Pod) => {
        const condition = pod.status?.conditions?.[0];
        return condition?.status === 'True' ? (NOW - Date.parse(condition.lastTransitionTime ?? '')) / 1000 : -1;
      };
      const { status } = after as ReplicaSet;
      expect(status?.replicas).toBe(active.length);
      expect(status?.readyReplicas ?? 0).toBe(active.filter((pod) => readyFor(pod) >= 0).length);
      expect(status?.availableReplicas ?? 0).toBe(
        active.filter((pod) => readyFor(pod) >= (set.spec?.minReadySeconds ?? 0)).length,
      );
      const terminating = pods.filter((pod) => isOwn(pod) && isTerminating(pod)).length;
      expect(status?.terminatingReplicas).toBe(set.kind === 'ReplicaSet' ? terminating : undefined);
    });
  });
});
