import { readFileSync } from 'node:fs';
import type { Pod } from '@gantry/operator';
import { describe, expect, it } from 'vitest';
import { CHANGED_FROM, ETCD_CLUSTERS, type EtcdCluster } from './etcd-cluster.ts';
import { type Action, type Membership, type Observed, planCluster } from './plan.ts';

const NOW = Date.parse('2026-01-01T01:00:00Z');

function cluster(spec: Partial<EtcdCluster['spec']> = {}, clusterId: string | undefined = 'c'): EtcdCluster {
  return {
    apiVersion: 'etcd.example.com/v1',
    kind: 'EtcdCluster',
    metadata: { name: 'db', namespace: 'a', uid: 'u' },
    spec: { size: 3, image: 'etcd:1', replaceAfter: 300, ...spec },
    ...(clusterId === undefined ? {} : { status: { clusterId } }),
  };
}
interface PodState {
  readonly ready?: 'True' | 'False';
  readonly since?: string;
  readonly image?: string;
  readonly phase?: string;
  readonly metadata?: Pod['metadata'];
  readonly restores?: boolean;
}
function pod(index: number, state: PodState = {}): Pod {
  const { ready = 'True', since = '2026-01-01T00:00:00Z', image = 'etcd:1', phase = 'Running', metadata } = state;
  const container = { name: 'etcd', image };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `db-${index}`,
      namespace: 'a',
      uid: `p${index}`,
      resourceVersion: '7',
      creationTimestamp: since,
      ...metadata,
    },
    spec: { containers: [container], ...(state.restores === true ? { initContainers: [{ name: 'restore' }] } : {}) },
    status: {
      phase,
      conditions: [{ type: 'Ready', status: ready, lastTransitionTime: since }],
      containerStatuses: [
        { name: 'etcd', image, imageID: '', ready: ready === 'True', restartCount: 0, containerID: `of ${image}` },
      ],
    },
  };
}
const member = (index: number, isLearner = false) => ({ id: String(index), name: `db-${index}`, isLearner });
const members = (...indexes: number[]): Membership => ({
  clusterId: 'c',
  leader: '0',
  members: indexes.map((index) => member(index)),
});
const plan = (observed: Partial<Observed>) =>
  planCluster({
    cluster: cluster(),
    pods: [pod(0), pod(1), pod(2)],
    membership: members(0, 1, 2),
    now: NOW,
    ...observed,
  });
/** The action, with names in place of members and pods. */
function shown({ action }: { readonly action: Action }): unknown[] {
  switch (action.kind) {
    case 'createFirst':
    case 'add':
      return [action.kind, action.name];
    case 'promote':
      return [action.kind, action.member.name];
    case 'remove':
      return [action.kind, action.member.name, action.isGone];
    case 'deletePod':
    case 'changeImage':
      return [action.kind, action.pod.metadata.name];
    case 'moveLeader':
      return [action.kind, action.to.name];
    case 'wait':
      return [action.kind];
  }
}

describe('the first member', () => {
  const first = (observed: Partial<Observed>) =>
    plan({ cluster: { ...cluster(), status: {} }, pods: [], membership: undefined, ...observed });

  it('is created, once', () => {
    expect(shown(first({}))).toEqual(['createFirst', 'db-0']);
    expect(shown(first({ pods: [pod(0)] }))).toEqual(['wait']);
    expect(shown(plan({ pods: [], membership: undefined })), 'its cluster is known').toEqual(['wait']);
  });

  it('is created anew if it has ended before it served', () => {
    expect(shown(first({ pods: [pod(0, { phase: 'Failed' })] }))).toEqual(['deletePod', 'db-0']);
    expect(
      shown(first({ pods: [pod(0, { phase: 'Failed', metadata: { name: 'db-0', deletionTimestamp: 'now' } })] })),
    ).toEqual(['wait']);
  });

  it('says which backup it restores', () =>
    expect(
      first({ cluster: { ...cluster({ restore: { claimName: 'c', file: 'db-1.db' } }), status: {} } }).message,
    ).toContain('db-1.db'));
});

describe('without a majority', () => {
  it('nothing is added or removed', () => {
    expect(plan({ membership: undefined })).toMatchObject({ action: { kind: 'wait' }, reason: 'Waiting' });
    expect(shown(plan({ membership: undefined, pods: [pod(0)] }))).toEqual(['wait']);
  });
});

describe('repairs', () => {
  it('delete a pod that is no member', () => {
    expect(shown(plan({ pods: [pod(0), pod(1), pod(2), pod(3)] }))).toEqual(['deletePod', 'db-3']);
    const ending = pod(3, { metadata: { name: 'db-3', deletionTimestamp: 'now' } });
    expect(plan({ pods: [pod(0), pod(1), pod(2), ending] }).reason).toBe('AsDesired');
    const pods = [pod(0), pod(1), pod(2), ending];
    expect(shown(plan({ pods, cluster: cluster({ size: 4 }) })), 'its name is taken').toEqual(['add', 'db-4']);
  });

  it.each([
    ['is gone', undefined, true],
    ['has failed', { phase: 'Failed' }, false],
    ['is being deleted', { metadata: { name: 'db-1', deletionTimestamp: 'now' } }, false],
  ] as const)('remove a member whose pod %s', (_, state, isGone) => {
    const pods = [pod(0), ...(state === undefined ? [] : [pod(1, state)]), pod(2)];
    expect(shown(plan({ pods }))).toEqual(['remove', 'db-1', isGone]);
  });

  it('remove a learner that has no pod, after a crash', () => {
    const { leader, clusterId } = members();
    const membership = { leader, clusterId, members: [member(0), member(1, true)] };
    expect(shown(plan({ pods: [pod(0)], membership }))).toEqual(['remove', 'db-1', true]);
  });

  it('wait for a member that is not ready, and replace it after a time', () => {
    const pods = (since: string) => [pod(0), pod(1, { ready: 'False', since }), pod(2)];
    expect(plan({ pods: pods('2026-01-01T00:55:00.001Z') })).toMatchObject({
      reason: 'Waiting',
      message: 'Waits until db-1 is ready',
    });
    expect(shown(plan({ pods: pods('2026-01-01T00:55:00.000Z') }))).toEqual(['remove', 'db-1', false]);
  });

  it('do not replace one of two that are not ready, or the only one', () => {
    const old = { ready: 'False' } as const;
    expect(shown(plan({ pods: [pod(0), pod(1, old), pod(2, old)] }))).toEqual(['wait']);
    expect(shown(plan({ pods: [pod(0, old)], membership: members(0), cluster: cluster({ size: 1 }) }))).toEqual([
      'wait',
    ]);
  });

  it('let a learner vote when all others are ready', () => {
    const membership = { ...members(), members: [member(0), member(1), member(2, true)] };
    const unready = pod(2, { ready: 'False' });
    expect(shown(plan({ membership, pods: [pod(0), pod(1), unready] }))).toEqual(['promote', 'db-2']);
    expect(
      shown(plan({ membership, pods: [pod(0), pod(1, { ready: 'False', since: '2026-01-01T00:59:00Z' }), unready] })),
    ).toEqual(['wait']);
  });
});

describe('changes', () => {
  it('add one member with the lowest free name', () => {
    expect(shown(plan({ pods: [pod(0), pod(2)], membership: members(0, 2) }))).toEqual(['add', 'db-1']);
    expect(shown(plan({ cluster: cluster({ size: 5 }) }))).toEqual(['add', 'db-3']);
  });

  it('remove the last member, and the leader only after another leads', () => {
    expect(shown(plan({ cluster: cluster({ size: 1 }) }))).toEqual(['remove', 'db-2', false]);
    const membership = { ...members(0, 1, 2), leader: '2' };
    expect(shown(plan({ cluster: cluster({ size: 1 }), membership }))).toEqual(['moveLeader', 'db-0']);
  });

  it('order members by number', () => {
    const indexes = Array.from({ length: 11 }, (_, index) => index);
    const observed = { pods: indexes.map((index) => pod(index)), membership: members(...indexes) };
    expect(shown(plan({ ...observed, cluster: cluster({ size: 9 }) }))).toEqual(['remove', 'db-10', false]);
  });

  it('replace the member that began with a backup as soon as there are others', () => {
    const pods = [pod(0, { restores: true }), pod(1), pod(2)];
    expect(shown(plan({ pods }))).toEqual(['moveLeader', 'db-1']);
    expect(shown(plan({ pods, membership: { ...members(0, 1, 2), leader: '1' } }))).toEqual(['remove', 'db-0', false]);
    expect(
      plan({ pods: [pod(0, { restores: true })], membership: members(0), cluster: cluster({ size: 1 }) }).reason,
    ).toBe('AsDesired');
  });

  it('change one image after the other, the leader last, for the version that was read', () => {
    const upgrade = cluster({ image: 'etcd:2' });
    const first = plan({ cluster: upgrade });
    expect(shown(first)).toEqual(['changeImage', 'db-1']);
    expect(first.action).toMatchObject({
      patch: {
        metadata: { uid: 'p1', resourceVersion: '7', annotations: { [CHANGED_FROM]: 'of etcd:1' } },
        spec: { containers: [{ name: 'etcd', image: 'etcd:2' }] },
      },
    });
    const changed = { image: 'etcd:2' };
    expect(shown(plan({ cluster: upgrade, pods: [pod(0), pod(1, changed), pod(2)] }))).toEqual(['changeImage', 'db-2']);
    expect(shown(plan({ cluster: upgrade, pods: [pod(0), pod(1, changed), pod(2, changed)] }))).toEqual([
      'moveLeader',
      'db-1',
    ]);
    expect(
      shown(plan({ cluster: cluster({ size: 1, image: 'etcd:2' }), pods: [pod(0)], membership: members(0) })),
    ).toEqual(['changeImage', 'db-0']);
  });

  it('wait until the container of the new image runs, although the pod still looks ready', () => {
    const metadata = { name: 'db-1', annotations: { [CHANGED_FROM]: 'of etcd:1' } };
    const pods = (image: string) => {
      const one = pod(1, { metadata, image });
      return [pod(0), { ...one, spec: { containers: [{ name: 'etcd', image: 'etcd:2' }] } }, pod(2)];
    };
    expect(shown(plan({ cluster: cluster({ image: 'etcd:2' }), pods: pods('etcd:1') }))).toEqual(['wait']);
    expect(shown(plan({ cluster: cluster({ image: 'etcd:2' }), pods: pods('etcd:2') }))).toEqual([
      'changeImage',
      'db-2',
    ]);
  });

  it('end', () =>
    expect(plan({})).toEqual({ action: { kind: 'wait' }, reason: 'AsDesired', message: '3 members of etcd:1' }));
});

it('has its definition to install in deploy', () => {
  const file = new URL('../deploy/definition.json', import.meta.url);
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(ETCD_CLUSTERS.definition);
});
