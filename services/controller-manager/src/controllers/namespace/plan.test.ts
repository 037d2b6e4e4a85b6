import type { KubeObject, Namespace } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { type Content, type ObservedNamespace, planNamespaceDeletion as plan } from './plan.ts';

const TRACKED = 'batch.kubernetes.io/job-tracking';
const NOW = Date.parse('2026-01-01T12:00:00Z');
const namespace: Namespace = {
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name: 'a', deletionTimestamp: '2026-01-01T11:59:00Z' },
  spec: { finalizers: ['kubernetes'] },
  status: { phase: 'Terminating' },
};

function content(metadata: KubeObject['metadata']): Content {
  return { group: '', resource: 'configmaps', objects: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata }] };
}

const held = content({ name: 'held', deletionTimestamp: '2026-01-01T11:59:30Z', finalizers: ['example.org/f'] });

type Told = Pick<ObservedNamespace, 'namespace' | 'content'> & Partial<ObservedNamespace>;
const planNamespaceDeletion = (observed: Told, now: number) =>
  plan({ unread: [], undiscovered: [], failures: [], ...observed }, now);

describe('planning a namespace’s deletion', () => {
  it('leaves living namespaces alone', () => {
    const living = { ...namespace, metadata: { name: 'a' } };
    expect(planNamespaceDeletion({ namespace: living, content: [held] }, NOW).actions).toEqual([]);
  });

  it('deletes everything first', () => {
    const some = content({ name: 'x' });
    const actions = planNamespaceDeletion({ namespace, content: [some] }, NOW).actions;
    expect(actions).toEqual([{ kind: 'deleteContent', group: '', resource: 'configmaps', object: some.objects[0] }]);
  });

  it('deletes pods before everything else, and counts what remains once they have gone', () => {
    const pod: KubeObject = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' } };
    const pods = (object: KubeObject): Content => ({ group: '', resource: 'pods', objects: [object] });
    const some = content({ name: 'x' });
    expect(planNamespaceDeletion({ namespace, content: [some, pods(pod)] }, NOW).actions).toEqual([
      { kind: 'deleteContent', group: '', resource: 'pods', object: pod },
    ]);
    const going = pods({ ...pod, metadata: { name: 'p', deletionTimestamp: '2026-01-01T11:59:30Z' } });
    const [action, ...rest] = planNamespaceDeletion({ namespace, content: [some, going] }, NOW).actions;
    expect(rest).toEqual([]);
    if (action?.kind !== 'updateStatus') throw new TypeError('no status');
    expect(action.status.conditions?.map(({ status, reason }) => [status, reason])).toEqual([
      ['False', 'ResourcesDiscovered'],
      ['False', 'ParsedGroupVersions'],
      ['False', 'ContentDeleted'],
      ['False', 'ContentRemoved'],
      ['False', 'ContentHasNoFinalizers'],
    ]);
  });

  it.each([
    ['that is being stopped', { deletionGracePeriodSeconds: 30, finalizers: [TRACKED] }, false],
    ['that waits for its Job alone', { deletionGracePeriodSeconds: 0, finalizers: [TRACKED] }, true],
    ['that waits for others', { deletionGracePeriodSeconds: 0, finalizers: [TRACKED, 'example.org/f'] }, false],
  ])('deletes the rest beside a pod %s: its Job would keep it for ever', (_, metadata, isDeleted) => {
    const deleted = { name: 'p', deletionTimestamp: '2026-01-01T11:59:30Z', ...metadata };
    const pods: Content = {
      group: '',
      resource: 'pods',
      objects: [{ apiVersion: 'v1', kind: 'Pod', metadata: deleted }],
    };
    const job: KubeObject = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'j' } };
    const jobs: Content = { group: 'batch', resource: 'jobs', objects: [job] };
    const { actions } = planNamespaceDeletion({ namespace, content: [pods, jobs] }, NOW);
    const deletion = { kind: 'deleteContent', group: 'batch', resource: 'jobs', object: job };
    expect(actions.filter(({ kind }) => kind === 'deleteContent')).toEqual(isDeleted ? [deletion] : []);
  });

  it('keeps the conditions of others, in their places', () => {
    const foreign = { type: 'example.org/audited', status: 'True' };
    const first = { type: 'NamespaceContentRemaining', status: 'False', lastTransitionTime: '2026-01-01T11:00:00Z' };
    const told = { ...namespace, status: { phase: 'Terminating', conditions: [first, foreign] } };
    const [action] = planNamespaceDeletion({ namespace: told, content: [held] }, NOW).actions;
    if (action?.kind !== 'updateStatus') throw new TypeError('no status');
    const [remaining, kept] = action.status.conditions ?? [];
    expect(remaining).toMatchObject({ type: 'NamespaceContentRemaining', status: 'True' });
    expect(kept).toEqual(foreign);
    expect(action.status.conditions).toHaveLength(6);
  });

  it('lets the namespace go when nothing is left', () => {
    expect(planNamespaceDeletion({ namespace, content: [] }, NOW).actions).toEqual([
      { kind: 'finalize', finalizers: [] },
    ]);
  });

  it.each<readonly [string, Partial<Namespace>]>([
    ['its spec', { spec: { finalizers: ['example.org/x', 'kubernetes'] } }],
    ['its metadata', { metadata: { ...namespace.metadata, finalizers: ['example.org/x'] } }],
  ])('says that nothing is left before it leaves a namespace to finalizers of others in %s', (_, of) => {
    const [before] = planNamespaceDeletion({ namespace, content: [held] }, NOW).actions;
    if (before?.kind !== 'updateStatus') throw new TypeError('no status');
    const told = { ...namespace, ...of, status: before.status };
    const { actions, requeueAt } = planNamespaceDeletion({ namespace: told, content: [] }, NOW);
    const [action, ...rest] = actions;
    expect([rest, requeueAt]).toEqual([[], NOW]);
    if (action?.kind !== 'updateStatus') throw new TypeError('no status');
    expect(action.status.conditions?.map(({ status }) => status)).toEqual(Array(5).fill('False'));
    const kept = (told.spec?.finalizers ?? []).filter((finalizer) => finalizer !== 'kubernetes');
    expect(
      planNamespaceDeletion({ namespace: { ...told, status: action.status }, content: [] }, NOW + 60_000).actions,
    ).toEqual([{ kind: 'finalize', finalizers: kept }]);
  });

  it('empties a namespace that has finalizers of others alone, and leaves it to them', () => {
    const others = { ...namespace, spec: { finalizers: ['example.org/x'] } };
    const some = content({ name: 'x' });
    expect(planNamespaceDeletion({ namespace: others, content: [some] }, NOW).actions).toMatchObject([
      { kind: 'deleteContent' },
    ]);
    const [action] = planNamespaceDeletion({ namespace: others, content: [] }, NOW).actions;
    if (action?.kind !== 'updateStatus') throw new TypeError('no status');
    const told = { ...others, status: action.status };
    expect(planNamespaceDeletion({ namespace: told, content: [] }, NOW)).toEqual({ actions: [] });
  });

  it('says what stands in the way, once', () => {
    const [action] = planNamespaceDeletion({ namespace, content: [held] }, NOW).actions;
    expect(action?.kind).toBe('updateStatus');
    if (action?.kind !== 'updateStatus') return;
    expect(action.status.conditions?.map(({ type, status, message }) => [type, status, message]).slice(2)).toEqual([
      ['NamespaceDeletionContentFailure', 'False', 'All content successfully deleted, may be waiting on finalization'],
      ['NamespaceContentRemaining', 'True', 'Some resources are remaining: configmaps. has 1 resource instances'],
      [
        'NamespaceFinalizersRemaining',
        'True',
        'Some content in the namespace has finalizers remaining: example.org/f in 1 resource instances',
      ],
    ]);
    const told = { ...namespace, status: action.status };
    expect(planNamespaceDeletion({ namespace: told, content: [held] }, NOW + 60_000).actions).toEqual([]);
  });

  it('lets nothing go while a server does not say what it serves, but deletes all the rest', () => {
    const undiscovered = ['wardle.example.com/v1', 'metrics.example.com/v1beta1'];
    const some = content({ name: 'x' });
    expect(planNamespaceDeletion({ namespace, content: [some], undiscovered }, NOW).actions).toMatchObject([
      { kind: 'deleteContent' },
    ]);
    const [action, ...rest] = planNamespaceDeletion({ namespace, content: [], undiscovered }, NOW).actions;
    expect(rest).toEqual([]);
    if (action?.kind !== 'updateStatus') throw new TypeError('no status');
    const stale = (version: string) => `${version}: stale GroupVersion discovery: ${version}`;
    const list = `${stale('metrics.example.com/v1beta1')}, ${stale('wardle.example.com/v1')}`;
    expect(action.status.conditions?.map(({ status, reason, message }) => [status, reason, message])).toEqual([
      [
        'True',
        'DiscoveryFailed',
        `Discovery failed for some groups, 2 failing: unable to retrieve the complete list of server APIs: ${list}`,
      ],
      ['False', 'ParsedGroupVersions', 'All legacy kube types successfully parsed'],
      ['False', 'ContentDeleted', 'All content successfully deleted, may be waiting on finalization'],
      ['False', 'ContentRemoved', 'All content successfully removed'],
      ['False', 'ContentHasNoFinalizers', 'All content-preserving finalizers finished'],
    ]);
  });

  it('lets nothing go while something cannot be read', () => {
    const unread = ['the server is currently unable to handle the request'];
    const [action] = planNamespaceDeletion({ namespace, content: [], unread }, NOW).actions;
    if (action?.kind !== 'updateStatus') throw new TypeError('no status');
    expect(action.status.conditions?.find(({ type }) => type === 'NamespaceDeletionContentFailure')).toMatchObject({
      status: 'True',
      reason: 'ContentDeletionFailed',
      message: `Failed to delete all resource types, 1 remaining: ${unread[0]}`,
    });
  });
});
