import { resources } from '@gantry/kinds';
import type { KubeObject } from '@gantry/objects';
import { formatTime } from '@gantry/base';
import { describe, expect, it } from 'vitest';
import { DELETE_AS_USUAL, type DeleteOptions } from '../contract/registry.ts';
import { endsDeletion, planDeletion } from './deletion.ts';
import { definitionOf } from '../testing.ts';

const NOW = 1_767_225_600_000;
const configMaps = definitionOf('configmaps');
const pods = definitionOf('pods');

const object = (metadata: object, rest: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'X',
  metadata: { name: 'a', namespace: 'n', ...metadata },
  ...rest,
});
const plan = (stored: KubeObject, options: Partial<DeleteOptions> = {}, definition = configMaps) =>
  planDeletion(stored, definition, { ...DELETE_AS_USUAL, ...options }, NOW);
const bound = { spec: { nodeName: 'x', terminationGracePeriodSeconds: 30, containers: [] } };

describe('the plan of a deletion', () => {
  it('removes at once what nothing keeps', () => {
    expect(plan(object({}))).toEqual({ kind: 'remove' });
    expect(plan(object({}), { propagationPolicy: 'Background' })).toEqual({ kind: 'remove' });
  });

  it.each([
    ['Orphan', 'orphan'],
    ['Foreground', 'foregroundDeletion'],
  ] as const)('marks for the policy %s', (propagationPolicy, finalizer) => {
    expect(plan(object({ generation: 3 }), { propagationPolicy })).toMatchObject({
      kind: 'mark',
      then: 'keep',
      object: {
        metadata: {
          finalizers: [finalizer],
          generation: 4,
          deletionTimestamp: formatTime(NOW),
          deletionGracePeriodSeconds: 0,
        },
      },
    });
  });

  it.each(['', 'events.k8s.io'])(
    'gives no Event of the group %j to the garbage collector, which never looks',
    (group) => {
      const events = resources.find((one) => one.group === group && one.resource === 'events') ?? configMaps;
      for (const propagationPolicy of ['Orphan', 'Foreground'] as const)
        expect(plan(object({}), { propagationPolicy }, events)).toEqual({ kind: 'remove' });
      expect(plan(object({}), { orphanDependents: true }, events)).toEqual({ kind: 'remove' });
    },
  );

  it('keeps what a former request wanted unless this one says otherwise', () => {
    const orphaned = object({ finalizers: ['orphan', 'x/y'] });
    expect(plan(orphaned)).toMatchObject({ object: { metadata: { finalizers: ['orphan', 'x/y'] } } });
    expect(plan(orphaned, { propagationPolicy: 'Background' })).toMatchObject({
      object: { metadata: { finalizers: ['x/y'] } },
    });
    expect(plan(object({ finalizers: ['orphan'] }), { orphanDependents: false })).toEqual({ kind: 'remove' });
  });

  it.each(['orphan', 'foregroundDeletion'])('keeps the finalizer %s of an earlier request', (finalizer) => {
    const planned = plan(object({ finalizers: [finalizer] }));
    expect(planned).toMatchObject({ kind: 'mark', object: { metadata: { finalizers: [finalizer] } } });
    const other = finalizer === 'orphan' ? 'Foreground' : 'Orphan';
    const replaced = plan(object({ finalizers: [finalizer, 'x/y'] }), { propagationPolicy: other });
    expect(replaced).toMatchObject({
      object: { metadata: { finalizers: ['x/y', other === 'Orphan' ? 'orphan' : 'foregroundDeletion'] } },
    });
    expect(plan(object({ finalizers: [finalizer] }), { propagationPolicy: 'Background' })).toEqual({ kind: 'remove' });
  });

  it.each(['jobs', 'replicationcontrollers'])('leaves the dependents of %s unless the request says otherwise', (of) => {
    expect(plan(object({}), {}, definitionOf(of))).toMatchObject({ object: { metadata: { finalizers: ['orphan'] } } });
    expect(plan(object({}), { propagationPolicy: 'Background' }, definitionOf(of))).toEqual({ kind: 'remove' });
  });

  it('counts a mark in the generation once, and only of objects with a generation', () => {
    const generationAfter = (metadata: object) => {
      const planned = plan(object({ finalizers: ['x/y'], ...metadata }));
      return planned.kind === 'mark' ? planned.object.metadata.generation : 'no mark';
    };
    expect(generationAfter({ generation: 3 })).toBe(4);
    expect(generationAfter({ generation: 3, deletionTimestamp: formatTime(NOW) })).toBe(3);
    expect(generationAfter({ generation: 0 })).toBe(0);
    expect(generationAfter({})).toBeUndefined();
  });

  it.each([
    ['later than now', 5000, 0],
    ['now', 0, 0],
    ['earlier', -5000, -5000],
  ])('moves a time of deletion that is %s to now, but never into the future', (_when, marked, expected) => {
    const deletionTimestamp = formatTime(NOW + marked);
    expect(plan(object({ finalizers: ['x/y'], deletionTimestamp }))).toMatchObject({
      object: { metadata: { deletionTimestamp: formatTime(NOW + expected), deletionGracePeriodSeconds: 0 } },
    });
  });

  it('marks a CustomResourceDefinition until its objects are gone', () => {
    const definitions = definitionOf('customresourcedefinitions');
    const first = plan(object({}), {}, definitions);
    expect(first).toMatchObject({
      kind: 'mark',
      then: 'keep',
      object: {
        metadata: {
          deletionTimestamp: formatTime(NOW),
          finalizers: ['customresourcecleanup.apiextensions.k8s.io'],
        },
        status: { conditions: [{ type: 'Terminating', status: 'True' }] },
      },
    });
    expect(plan(object({ deletionTimestamp: formatTime(NOW) }), {}, definitions)).toEqual({ kind: 'remove' });
  });

  it('keeps the dependents of a namespace as the request says', () => {
    expect(plan(object({}), { propagationPolicy: 'Orphan' }, definitionOf('namespaces'))).toMatchObject({
      object: { metadata: { finalizers: ['orphan'] }, status: { phase: 'Terminating' } },
    });
  });

  it('leaves a namespace until its finalizers have gone, which are those of its content', () => {
    const namespaces = definitionOf('namespaces');
    const marked = { deletionTimestamp: formatTime(NOW) };
    const withContent = object(marked, { spec: { finalizers: ['kubernetes'] } });
    expect(plan(withContent, {}, namespaces)).toEqual({ kind: 'pending' });
    expect(plan(object(marked), {}, namespaces)).toEqual({ kind: 'remove' });
  });

  it('gives a bound pod its grace period, which later requests can only shorten', () => {
    const first = plan(object({ generation: 1 }, bound), {}, pods);
    expect(first).toMatchObject({
      then: 'keep',
      object: {
        metadata: { deletionGracePeriodSeconds: 30, deletionTimestamp: formatTime(NOW + 30_000), generation: 2 },
      },
    });
    const marked = object({ deletionGracePeriodSeconds: 30, deletionTimestamp: formatTime(NOW + 30_000) }, bound);
    expect(plan(marked, {}, pods)).toEqual({ kind: 'pending' });
    for (const gracePeriodSeconds of [30, 60])
      expect(plan(marked, { gracePeriodSeconds }, pods)).toEqual({ kind: 'pending' });
    expect(plan(marked, { gracePeriodSeconds: 10 }, pods)).toMatchObject({
      then: 'keep',
      object: { metadata: { deletionGracePeriodSeconds: 10, deletionTimestamp: formatTime(NOW + 10_000) } },
    });
    expect(plan(marked, { gracePeriodSeconds: 0 }, pods)).toMatchObject({ then: 'remove' });
    expect(plan(marked, { gracePeriodSeconds: -5 }, pods)).toMatchObject({
      object: { metadata: { deletionGracePeriodSeconds: 1 } },
    });
  });

  it('never moves the end of a grace period into the past', () => {
    const began = NOW - 20_000;
    const marked = object(
      { deletionTimestamp: formatTime(began + 30_000), deletionGracePeriodSeconds: 30 },
      { spec: bound.spec },
    );
    const after = (gracePeriodSeconds: number) => {
      const planned = plan(marked, { gracePeriodSeconds }, pods);
      const { metadata } = planned.kind === 'mark' ? planned.object : object({});
      return [metadata.deletionTimestamp, metadata.deletionGracePeriodSeconds];
    };
    expect(after(25)).toEqual([formatTime(began + 25_000), 25]);
    expect(after(5)).toEqual([formatTime(NOW), 1]);
    expect(after(0)).toEqual([formatTime(NOW), 0]);
  });

  it('removes what was marked without a grace period, when another write came in between', () => {
    const marked = { deletionTimestamp: formatTime(NOW), deletionGracePeriodSeconds: 0 };
    expect(plan(object(marked, bound), {}, pods)).toEqual({ kind: 'remove' });
    expect(plan(object({ deletionTimestamp: formatTime(NOW) }, bound), {}, pods)).toEqual({ kind: 'remove' });
    expect(plan(object({ ...marked, finalizers: ['x/y'] }, bound), {}, pods)).toEqual({ kind: 'pending' });
  });

  it('changes nothing of what it is given', () => {
    const stored = object({ finalizers: ['x/y'] }, bound);
    const before = structuredClone(stored);
    for (const definition of resources) plan(stored, { propagationPolicy: 'Foreground' }, definition);
    expect(stored).toEqual(before);
  });

  it('ends when the last finalizer goes, and not before the grace period has', () => {
    const deleting = { deletionTimestamp: formatTime(NOW) };
    const kept = object({ ...deleting, finalizers: ['x/y'] });
    expect(endsDeletion(object(deleting), kept, configMaps)).toBe(true);
    expect(endsDeletion(kept, kept, configMaps)).toBe(false);
    expect(endsDeletion(object({}), object({ finalizers: ['x/y'] }), configMaps)).toBe(false);
    const waiting = { ...deleting, deletionGracePeriodSeconds: 30 };
    expect(endsDeletion(object(waiting), object({ ...waiting, finalizers: ['x/y'] }), pods)).toBe(false);
    expect(endsDeletion(object(deleting), object(deleting), configMaps)).toBe(false);
  });

  it('of a namespace ends when the last finalizer of its metadata and of its spec goes', () => {
    const namespaces = definitionOf('namespaces');
    const namespace = (inMetadata: number, inSpec: number) =>
      object(
        { deletionTimestamp: formatTime(NOW), finalizers: inMetadata === 0 ? undefined : ['x/y'] },
        { spec: { finalizers: Array.from({ length: inSpec }, () => 'kubernetes') } },
      );
    const ends = (after: KubeObject, before: KubeObject) => endsDeletion(after, before, namespaces);
    expect(ends(namespace(0, 0), namespace(0, 1))).toBe(true);
    expect(ends(namespace(0, 0), namespace(1, 0))).toBe(true);
    expect(ends(namespace(0, 0), namespace(1, 1))).toBe(true);
    expect(ends(namespace(0, 1), namespace(1, 1))).toBe(false);
    expect(ends(namespace(0, 0), namespace(0, 0))).toBe(false);
    expect(ends(object({ deletionTimestamp: formatTime(NOW) }), namespace(0, 1))).toBe(true);
  });
});
