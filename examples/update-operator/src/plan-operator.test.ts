import type { ConfigMap, KubeObject } from '@gantry/operator';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NAMES, stateOf } from './handshake.ts';
import {
  isBusy,
  type ObservedNodes,
  type OperatorAction,
  type OperatorSettings,
  planOperator,
} from './plan-operator.ts';

const SETTINGS: OperatorSettings = { maxRebooting: 1, beforeReboot: ['ready'], afterReboot: ['fine'] };

function node(name: string, annotations: Record<string, string> = {}, labels: Record<string, string> = {}): KubeObject {
  return { apiVersion: 'v1', kind: 'Node', metadata: { name, uid: name, resourceVersion: '7', annotations, labels } };
}
function slots(data: Record<string, string>): ConfigMap {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'slots', resourceVersion: '3' }, data };
}
const plan = (nodes: readonly KubeObject[], given?: Record<string, string>, rest: Partial<ObservedNodes> = {}) =>
  planOperator({ nodes, slots: given === undefined ? undefined : slots(given), isWindowOpen: true, ...rest }, SETTINGS);
const steps = (actions: readonly OperatorAction[]) =>
  actions.map((action) => (action.kind === 'patchNode' ? `${action.node}: ${action.step}` : action.slots));

const WANTS = { [NAMES.rebootNeeded]: 'true' };
const BEFORE = { [NAMES.beforeReboot]: 'true' };
const AFTER = { [NAMES.afterReboot]: 'true' };
const OK = { [NAMES.rebootOk]: 'true' };

describe('the operator', () => {
  it('does nothing for nodes that need no reboot', () => expect(plan([node('a')])).toEqual([]));

  it('gives the slot to the first node by name', () =>
    expect(steps(plan([node('b', WANTS), node('a', WANTS)]))).toEqual([{ a: '7' }]));

  it('marks a node that has the slot for exactly its version', () => {
    expect(steps(plan([node('a', WANTS)], { a: '7' }))).toEqual(['a: before reboot']);
    expect(steps(plan([node('a', WANTS)], { a: '8' })), 'the cache is behind').toEqual([]);
    expect(steps(plan([node('a', WANTS)], { a: '6' })), 'the slot is given again').toEqual([{ a: '7' }]);
  });

  it('takes the slot of a node that wants no reboot any more, but only if its version is newer', () => {
    expect(steps(plan([node('a'), node('b', WANTS)], { a: '7' }))).toEqual([]);
    expect(steps(plan([node('a'), node('b', WANTS)], { a: '6' }))).toEqual([{ b: '7' }]);
    expect(steps(plan([node('b', WANTS)], { a: '7' })), 'the node is gone').toEqual([{ b: '7' }]);
  });

  it('counts nodes that are busy without a slot', () => {
    expect(steps(plan([node('a', OK), node('b', WANTS)]))).toEqual(['a: after reboot', { a: '7' }]);
    expect(steps(plan([node('a', { ...WANTS, [NAMES.rebootInProgress]: 'true' }), node('b', WANTS)]))).toEqual([
      { a: '7' },
    ]);
  });

  it.each([
    ['is paused', { ...WANTS, [NAMES.rebootPaused]: 'true' }],
    ['needs none', { [NAMES.rebootNeeded]: 'false' }],
  ])('cleans up a marked node that %s', (_, annotations) =>
    expect(plan([node('a', annotations, BEFORE)], { a: '6' })).toEqual([
      {
        kind: 'patchNode',
        node: 'a',
        step: 'cleaned up',
        patch: {
          metadata: {
            uid: 'a',
            resourceVersion: '7',
            annotations: { ready: null },
            labels: { [NAMES.beforeReboot]: null },
          },
        },
      },
    ]),
  );

  it('allows the reboot after all checks', () => {
    expect(plan([node('a', WANTS, BEFORE)], { a: '6' })).toEqual([]);
    const [action] = plan([node('a', { ...WANTS, ready: 'true' }, BEFORE)], { a: '6' });
    expect(action).toMatchObject({
      step: 'reboot allowed',
      patch: {
        metadata: { annotations: { ready: null, [NAMES.rebootOk]: 'true' }, labels: { [NAMES.beforeReboot]: null } },
      },
    });
  });

  it('waits while the node reboots', () => {
    expect(plan([node('a', { ...WANTS, ...OK })], { a: '6' })).toEqual([]);
    expect(plan([node('a', { ...WANTS, ...OK, [NAMES.rebootInProgress]: 'true' })], { a: '6' })).toEqual([]);
  });

  it('checks the node after its reboot, and then frees the slot', () => {
    const [action] = plan([node('a', { ...OK, fine: 'true' })], { a: '6' });
    expect(action).toMatchObject({
      step: 'after reboot',
      patch: { metadata: { annotations: { fine: null }, labels: { [NAMES.afterReboot]: 'true' } } },
    });
    expect(plan([node('a', OK, AFTER)], { a: '6' })).toEqual([]);
    const [last] = plan([node('a', { ...OK, fine: 'true' }, AFTER)], { a: '6' });
    expect(last).toMatchObject({
      step: 'rebooted',
      patch: {
        metadata: { annotations: { fine: null, [NAMES.rebootOk]: 'false' }, labels: { [NAMES.afterReboot]: null } },
      },
    });
    expect(steps(plan([node('a', { [NAMES.rebootOk]: 'false' })], { a: '6' }))).toEqual([{}]);
  });

  it('begins nothing outside the window, and takes marks back', () => {
    const isWindowOpen = false;
    expect(plan([node('a', WANTS)], {}, { isWindowOpen })).toEqual([]);
    expect(plan([node('a', WANTS)], { a: '7' }, { isWindowOpen })).toEqual([]);
    const ready = node('a', { ...WANTS, ready: 'true' }, BEFORE);
    expect(steps(plan([ready], { a: '6' }, { isWindowOpen }))).toEqual(['a: cleaned up']);
    expect(steps(plan([node('a', OK)], { a: '6' }, { isWindowOpen })), 'it ends what it began').toEqual([
      'a: after reboot',
    ]);
  });
});

/** Nodes and slots with versions, as an API server has them. Every version that was ever there can be read. */
class Store {
  #version = 1;
  readonly history: { readonly nodes: readonly KubeObject[]; readonly slots: ConfigMap | undefined }[];

  constructor(names: readonly string[]) {
    this.history = [
      {
        nodes: names.map((name) => ({ ...node(name), metadata: { name, uid: name, resourceVersion: '1' } })),
        slots: undefined,
      },
    ];
  }

  get now() {
    const now = this.history.at(-1);
    if (now === undefined) throw new RangeError('no state');
    return now;
  }

  /** Whether it is written: not for an old version. */
  write(action: OperatorAction, basis: ConfigMap | undefined): boolean {
    const { nodes, slots: current } = this.now;
    const resourceVersion = String(++this.#version);
    if (action.kind === 'writeSlots') {
      if (current?.metadata.resourceVersion !== basis?.metadata.resourceVersion) return false;
      this.history.push({
        nodes,
        slots: { ...slots({ ...action.slots }), metadata: { name: 'slots', resourceVersion } },
      });
      return true;
    }
    const { resourceVersion: wanted, annotations = {}, labels = {} } = action.patch.metadata;
    if (nodes.find(({ metadata }) => metadata.name === action.node)?.metadata.resourceVersion !== wanted) return false;
    this.change(action.node, annotations, labels);
    return true;
  }

  change(
    name: string,
    annotations: Readonly<Record<string, string | null>>,
    labels: Readonly<Record<string, string | null>> = {},
  ) {
    const { nodes, slots: current } = this.now;
    const resourceVersion = String(++this.#version);
    const changed = nodes.map((one) => {
      if (one.metadata.name !== name) return one;
      const merged = (old: Readonly<Record<string, string>> = {}, change: Readonly<Record<string, string | null>>) =>
        Object.fromEntries(
          Object.entries({ ...old, ...change }).flatMap(([key, value]) => (value === null ? [] : [[key, value]])),
        );
      const { metadata } = one;
      return {
        ...one,
        metadata: {
          ...metadata,
          resourceVersion,
          annotations: merged(metadata.annotations, annotations),
          labels: merged(metadata.labels, labels),
        },
      };
    });
    this.history.push({ nodes: changed, slots: current });
  }
}

it('never has more than N busy nodes, however many leaders decide from however old views, and however late they write', () => {
  const names = ['a', 'b', 'c', 'd'];
  const mostly = <T>(usual: T, rare: fc.Arbitrary<T>) =>
    fc.oneof({ weight: 4, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: rare });
  const event = fc.record({
    what: fc.constantFrom('decide', 'write', 'decide', 'write', 'ask', 'begin', 'reboot', 'withdraw', 'touch'),
    node: fc.constantFrom(...names),
    /** How much older than now the view of the nodes and that of the slots are; which of the delayed writes arrives. */
    nodesAge: mostly(0, fc.nat(6)),
    slotsAge: mostly(0, fc.nat(6)),
    which: mostly(-1, fc.nat(20)),
  });
  let rebooted = 0;
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 2 }),
      fc.array(event, { minLength: 100, maxLength: 300, size: 'max' }),
      (maxRebooting, events) => {
        const store = new Store(names);
        const late: { readonly action: OperatorAction; readonly basis: ConfigMap | undefined }[] = [];
        const settings = { maxRebooting, beforeReboot: [], afterReboot: [] };
        const stateOfNode = (name: string) =>
          stateOf(store.now.nodes.find(({ metadata }) => metadata.name === name) ?? node(name));
        const happen: Record<
          string,
          (of: { node: string; nodesAge: number; slotsAge: number; which: number }) => void
        > = {
          decide: ({ nodesAge, slotsAge }) => {
            const view = (age: number) => store.history[Math.max(0, store.history.length - 1 - age)] ?? store.now;
            const basis = view(slotsAge).slots;
            const observed = { nodes: view(nodesAge).nodes, slots: basis, isWindowOpen: true };
            for (const action of planOperator(observed, settings)) late.push({ action, basis });
          },
          write: ({ which }) => {
            const [write] = late.splice(which < 0 ? -1 : which % Math.max(1, late.length), 1);
            if (write !== undefined) store.write(write.action, write.basis);
          },
          ask: ({ node: name }) => store.change(name, WANTS),
          withdraw: ({ node: name }) =>
            !stateOfNode(name).isOk && store.change(name, { [NAMES.rebootNeeded]: 'false' }),
          touch: ({ node: name, which }) => store.change(name, { other: String(which) }),
          begin: () => {
            const name = names.find((one) => stateOfNode(one).isOk && stateOfNode(one).isNeeded);
            if (name !== undefined) store.change(name, { [NAMES.rebootInProgress]: 'true' });
          },
          reboot: () => {
            const name = names.find((one) => stateOfNode(one).isInProgress);
            if (name === undefined) return;
            rebooted += 1;
            store.change(name, { [NAMES.rebootInProgress]: 'false', [NAMES.rebootNeeded]: 'false' });
          },
        };
        for (const one of events) {
          happen[one.what]?.(one);
          const busy = store.now.nodes.filter((of) => isBusy(stateOf(of)));
          expect(busy.length).toBeLessThanOrEqual(maxRebooting);
        }
      },
    ),
    { numRuns: 300, seed: 1 },
  );
  expect(rebooted).toBeGreaterThan(100);
});
