import { errorsOf } from '@gantry/apimachinery';
import { must } from '@gantry/base';
import { expect, it } from 'vitest';
import {
  type DaemonSet,
  type KubeObject,
  type Namespace,
  type Node,
  type Pod,
  type PodStatus,
  cloneJson,
} from '@gantry/objects';
import { findKind } from './registry.ts';

const CONTEXT = { now: 0, user: { name: 'u', uid: '', groups: [], extra: {} }, warn: () => undefined };

/** The errors of an update through `status`, and the object as it would be stored. */
function through<T extends KubeObject>(group: string, object: T, old: T): { object: T; faults: string[] } {
  const definition = must(findKind(group, 'v1', object.kind), object.kind);
  const status = must(
    definition.subresources.find(({ name }) => name === 'status'),
    'status',
  );
  const after = cloneJson(object);
  definition.strategy.applyDefaults?.(after);
  status.prepareForUpdate?.(after, old, CONTEXT);
  const faults = errorsOf(status.validateUpdate?.(after, old));
  return { object: after, faults: faults.map(({ field, detail }) => `${field}: ${detail}`) };
}

const pod = (status: PodStatus): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p' },
  spec: { containers: [{ name: 'c', image: 'i' }] },
  status,
});

it('holds the status of a pod to its rules', () => {
  const old = pod({ qosClass: 'BestEffort' });
  const faults = (status: PodStatus) => through('', pod(status), old).faults;
  expect(faults({ qosClass: 'Guaranteed' })).toEqual(['status.qosClass: field is immutable']);
  expect(faults({ observedGeneration: -1 })).toEqual(['status.observedGeneration: must be a non-negative integer']);
  expect(faults({ hostIPs: [{ ip: '1.2.3.4' }] })).toEqual(['status.hostIPs[0].ip: must be equal to `hostIP`']);
  expect(faults({ podIP: '1.2.3.4', podIPs: [{ ip: '1.2.3.4' }, { ip: '1.2.3.5' }] })).toEqual([
    'status.podIPs: may specify no more than one IP for each IP family',
  ]);
  expect(faults({ podIP: '1.2.3.4', podIPs: [{ ip: '1.2.3.4' }, { ip: '::1' }] })).toEqual([]);
  expect(faults({ conditions: [{ type: '', status: '' }] })[0]).toMatch(/^status.conditions\[0\].Type: /);
});

it('keeps what a status of a pod leaves out', () => {
  const old = pod({
    qosClass: 'BestEffort',
    observedGeneration: 3,
    conditions: [{ type: 'Ready', status: 'True', observedGeneration: 2 }],
  });
  const { object } = through('', pod({ conditions: [{ type: 'Ready', status: 'False' }] }), old);
  expect(object.status).toEqual({
    qosClass: 'BestEffort',
    observedGeneration: 3,
    conditions: [{ type: 'Ready', status: 'False', observedGeneration: 2 }],
  });
});

it('refuses a node less than nothing, and an address twice', () => {
  const node = (status: Node['status']): Node => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'n' },
    ...(status === undefined ? {} : { status }),
  });
  const address = { type: 'InternalIP', address: '1.2.3.4' };
  const { faults } = through('', node({ capacity: { cpu: '-1' }, addresses: [address, address] }), node({}));
  expect(faults).toEqual([
    'status.capacity.cpu: must be greater than or equal to 0',
    'status.allocatable.cpu: must be greater than or equal to 0',
    'status.addresses[1]: ',
  ]);
});

it('takes a namespace without a phase for an active one', () => {
  const namespace = (status: Namespace['status']): Namespace => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'n' },
    ...(status === undefined ? {} : { status }),
  });
  const active = namespace({ phase: 'Active' });
  expect(through('', namespace({}), active)).toMatchObject({ faults: [], object: { status: { phase: 'Active' } } });
});

it("leaves the generation of a daemon set's template alone", () => {
  const set = (annotations: Record<string, string>): DaemonSet => ({
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name: 'd', annotations },
  });
  const { object } = through('apps', set({}), set({ 'deprecated.daemonset.template.generation': '4' }));
  expect(object.metadata.annotations).toEqual({ 'deprecated.daemonset.template.generation': '4' });
});

it.each([
  [undefined, -1, 1],
  [2, 1, 1],
  [2, undefined, 1],
  [2, 2, 0],
])('counts collisions up alone, from %s to %s', (before, after, faults) => {
  const set = (collisionCount: number | undefined): DaemonSet => ({
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name: 'd' },
    status: {
      currentNumberScheduled: 0,
      desiredNumberScheduled: 0,
      numberMisscheduled: 0,
      numberReady: 0,
      ...(collisionCount === undefined ? {} : { collisionCount }),
    },
  });
  expect(through('apps', set(after), set(before)).faults).toHaveLength(faults);
});
