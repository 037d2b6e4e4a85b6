import type { PersistentVolumeClaim, Pod, StatefulSetSpec } from '@gantry/objects';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Action } from './actions.ts';
import { historyOf } from './history.ts';
import { isInRange, ordinalOf, ordinalRange, revisionOf } from './identity.ts';
import { isRunningAndReady, isUnavailable } from './status.ts';
import { claimTemplate, template } from './testing/objects.ts';
import { describePods, ordinalsOf, World } from './testing/world.ts';

/** An event in the world: a reconcile, a report of the kubelet, a change by the user, or the passing of time. */
type Happening =
  /** A reconcile with a view that is `age` changes old and with at most `writes` writes. */
  | { readonly kind: 'reconcile'; readonly age: number; readonly writes: number }
  | { readonly kind: 'report'; readonly ordinal: number; readonly state: 'running' | 'ready' | 'failed' | 'succeeded' }
  | { readonly kind: 'remove'; readonly ordinal: number }
  | { readonly kind: 'change'; readonly spec: Partial<StatefulSetSpec> }
  | { readonly kind: 'wait'; readonly seconds: number };

const ordinal = fc.nat(6);
const retention = fc.constantFrom('Delete', 'Retain');
const strategy = fc.record({
  partition: fc.nat(4),
  maxUnavailable: fc.option(fc.constantFrom<number | string>(1, 2, '50%'), { nil: undefined }),
});

const spec: fc.Arbitrary<Partial<StatefulSetSpec>> = fc.oneof(
  fc.record({ replicas: fc.nat(5) }),
  fc.constantFrom('old', 'new', 'newer').map((image) => ({ template: template(image) })),
  fc.record({ ordinals: fc.record({ start: fc.nat(2) }) }),
  strategy.map(({ partition, maxUnavailable }) => ({
    updateStrategy: {
      type: 'RollingUpdate',
      rollingUpdate: { partition, ...(maxUnavailable === undefined ? {} : { maxUnavailable }) },
    },
  })),
  fc.record({ persistentVolumeClaimRetentionPolicy: fc.record({ whenDeleted: retention, whenScaled: retention }) }),
);

/** Events, mostly reconciles and reports. `maxAge` is the highest age of the views. */
function happenings(maxAge: number): fc.Arbitrary<readonly Happening[]> {
  const state = fc.constantFrom('running', 'ready', 'ready', 'ready', 'failed', 'succeeded' as const);
  const one: fc.Arbitrary<Happening> = fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({
        kind: fc.constant('reconcile' as const),
        age: fc.nat(maxAge),
        writes: fc.integer({ min: 1, max: 6 }),
      }),
    },
    {
      weight: 8,
      arbitrary: fc.record({ kind: fc.constant('report' as const), ordinal, state: state as fc.Arbitrary<'ready'> }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('remove' as const), ordinal }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('change' as const), spec }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('wait' as const), seconds: fc.nat(40) }) },
  );
  return fc.array(one, { maxLength: 60 });
}

const start = fc.record({
  podManagementPolicy: fc.constantFrom('OrderedReady', 'Parallel'),
  replicas: fc.nat(4),
  minReadySeconds: fc.constantFrom(0, 30),
  volumeClaimTemplates: fc.constantFrom<PersistentVolumeClaim[]>([], [claimTemplate('data')]),
});

function happen(world: World, what: Happening): void {
  switch (what.kind) {
    case 'reconcile':
      return world.reconcile(what.age, what.writes);
    case 'report':
      return world.report(`web-${what.ordinal}`, what.state);
    case 'remove':
      return world.remove(`web-${what.ordinal}`);
    case 'change':
      return world.change(what.spec);
    case 'wait':
      world.now += what.seconds * 1000;
  }
}

/** Reconciles with current views, and with a kubelet that makes every pod ready, until nothing is left to do. */
function settle(world: World): void {
  for (let round = 0; round < 200; round++) {
    const planned = world.plan();
    if (planned.length > 0) world.reconcile(0, Number.POSITIVE_INFINITY);
    const waiting = world.pods.filter((pod) => !isRunningAndReady(pod) || pod.metadata.deletionTimestamp !== undefined);
    for (const pod of waiting) world.report(pod.metadata.name ?? '', 'ready');
    if (planned.length === 0 && waiting.length === 0) {
      if (world.pods.every((pod) => !isUnavailable(pod, world.set, world.now))) return;
      world.now += 60_000;
    }
  }
  expect.fail(`it does not come to rest: ${describePods(world).join(', ')}`);
}

const RUNS = { seed: 7, numRuns: 150 };

describe('a stateful set', () => {
  it('ends in the desired state after every history, with outdated and repeated views and crashes between writes', () => {
    fc.assert(
      fc.property(start, happenings(6), (first, history) => {
        const world = new World(first);
        for (const what of history) happen(world, what);
        settle(world);
        const { start: lowest, count } = ordinalRange(world.set);
        expect(ordinalsOf(world)).toEqual(Array.from({ length: count }, (_, i) => lowest + i));
        expect(world.plan()).toEqual([]);
        expectComplete(world);
      }),
      RUNS,
    );
  });

  it('never has two pods of one ordinal, and creates none that a true view shows', () => {
    fc.assert(
      fc.property(start, happenings(0), (first, history) => {
        const world = new World(first);
        for (const what of history) {
          happen(world, what);
          expect(new Set(ordinalsOf(world)).size).toBe(world.pods.length);
          expect(ordinalsOf(world)[0] ?? 0).toBeGreaterThanOrEqual(0);
        }
        expect(world.refused).toEqual([]);
      }),
      RUNS,
    );
  });

  it('keeps the order: one pod at a time, each after the pods below it, from the highest when it shrinks', () => {
    fc.assert(
      fc.property(start, happenings(0), (first, history) => {
        const world = new World({ ...first, podManagementPolicy: 'OrderedReady' });
        for (const what of history) {
          happen(world, what);
          expectOrdered(world, world.plan());
        }
      }),
      RUNS,
    );
  });

  it('updates no pod below the partition, and never more than may be unavailable', () => {
    fc.assert(
      fc.property(start, strategy, happenings(0), (first, { partition, maxUnavailable = 1 }, history) => {
        const rollingUpdate = { partition, maxUnavailable };
        const world = new World({ ...first, updateStrategy: { type: 'RollingUpdate', rollingUpdate } });
        for (const what of history.filter(({ kind }) => kind !== 'change')) {
          happen(world, what);
          expectBoundedUpdate(world, world.plan(), partition, maxUnavailable);
        }
        world.change({ template: template('newer') });
        for (const what of history.filter(({ kind }) => kind !== 'change')) {
          happen(world, what);
          expectBoundedUpdate(world, world.plan(), partition, maxUnavailable);
        }
      }),
      RUNS,
    );
  });
});

/** Expects that everything that can be updated is updated, that the status says so, and that each pod has its claims. */
function expectComplete(world: World): void {
  const { set } = world;
  const { update } = historyOf(set, world.observe().revisions);
  const { start: lowest, count } = ordinalRange(set);
  const partition = set.spec?.updateStrategy?.rollingUpdate?.partition ?? 0;
  const outdated = world.pods.filter((pod) => revisionOf(pod) !== update.name);
  for (const pod of outdated) expect((ordinalOf(set, pod) ?? -1) - lowest).toBeLessThan(partition);
  const { replicas, readyReplicas = 0, availableReplicas, updatedReplicas = 0, updateRevision } = set.status ?? {};
  expect({ replicas, readyReplicas, availableReplicas, updatedReplicas, updateRevision }).toEqual({
    replicas: count,
    readyReplicas: count,
    availableReplicas: count,
    updatedReplicas: count - outdated.length,
    updateRevision: update.name,
  });
  const claims = new Set(world.claims.map(({ metadata }) => metadata.name));
  for (const claimTemplateName of set.spec?.volumeClaimTemplates?.map(({ metadata }) => metadata.name) ?? []) {
    for (const pod of world.pods) expect(claims).toContain(`${claimTemplateName ?? ''}-${pod.metadata.name ?? ''}`);
  }
}

const changesOf = (actions: readonly Action[]) =>
  actions.filter((action) => action.kind === 'createPod' || action.kind === 'deletePod');

function expectOrdered(world: World, actions: readonly Action[]): void {
  const { set, now } = world;
  const changes = changesOf(actions);
  const at = (pod: Pod) => ordinalOf(set, pod) ?? -1;
  const range = ordinalRange(set);
  const below = (of: number) => world.pods.filter((pod) => isInRange(at(pod), range) && at(pod) < of);
  const isSettled = (pod: Pod) => isRunningAndReady(pod) && !isUnavailable(pod, set, now);
  const limit = set.spec?.updateStrategy?.rollingUpdate?.maxUnavailable === undefined ? 1 : range.count;
  expect(changes.length).toBeLessThanOrEqual(Math.max(1, limit));
  for (const { kind, pod } of changes) {
    expect(below(at(pod)).every(isSettled)).toBe(true);
    if (kind === 'createPod') expect(below(at(pod))).toHaveLength(at(pod) - range.start);
    else if (!isInRange(at(pod), range)) {
      const above = world.pods.filter((other) => !isInRange(at(other), range) && at(other) > at(pod));
      expect(above).toEqual([]);
      expect(below(Number.POSITIVE_INFINITY)).toHaveLength(range.count);
    }
  }
}

function expectBoundedUpdate(
  world: World,
  actions: readonly Action[],
  partition: number,
  maxUnavailable: number | string,
): void {
  const { set, now } = world;
  const range = ordinalRange(set);
  const updated = changesOf(actions).filter(
    ({ kind, pod }) =>
      kind === 'deletePod' &&
      isInRange(ordinalOf(set, pod) ?? -1, range) &&
      !['Failed', 'Succeeded'].includes(pod.status?.phase ?? ''),
  );
  if (updated.length === 0) return;
  for (const { pod } of updated) expect((ordinalOf(set, pod) ?? -1) - range.start).toBeGreaterThanOrEqual(partition);
  const living = world.pods.filter(
    (pod) => isInRange(ordinalOf(set, pod) ?? -1, range) && !isUnavailable(pod, set, now),
  );
  const left = living.filter((pod) => !updated.some((action) => action.pod === pod));
  const allowed = maxUnavailable === '50%' ? Math.max(1, Math.floor(range.count / 2)) : Number(maxUnavailable);
  expect(range.count - left.length).toBeLessThanOrEqual(allowed);
}
