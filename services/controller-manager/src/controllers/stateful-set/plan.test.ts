import { readFileSync } from 'node:fs';
import type { StatefulSet, StatefulSetSpec, StatefulSetStatus } from '@gantry/objects';
import { describe, expect, it, test } from 'vitest';
import type { Action } from './actions.ts';
import { historyOf } from './history.ts';
import { newPod } from './identity.ts';
import { type ObservedStatefulSet, planStatefulSet } from './plan.ts';
import { describeAction } from './testing/describe-action.ts';
import { claimOf, claimTemplate, NOW, podOf, revision, statefulSet, template } from './testing/objects.ts';

/** A row of `plan.cases.json`. Without `revisions`, the set's template is the only revision. `current` is the oldest revision. */
interface Case {
  readonly name: string;
  readonly spec?: Partial<StatefulSetSpec>;
  readonly parallel?: boolean;
  readonly onDelete?: boolean;
  readonly deleting?: boolean;
  readonly partition?: number;
  readonly maxUnavailable?: number | string;
  readonly templates?: readonly string[];
  /** `whenDeleted`, `whenScaled`. */
  readonly retention?: readonly [string, string];
  readonly revisions?: Readonly<Record<string, number>>;
  readonly freeRevisions?: boolean;
  readonly current?: string;
  readonly currentReplicas?: number;
  readonly pods?: Readonly<Record<string, string>>;
  readonly claims?: Readonly<Record<string, string>>;
  readonly expect: readonly string[];
  readonly status?: Partial<StatefulSetStatus>;
}

const CASES = JSON.parse(readFileSync(new URL('plan.cases.json', import.meta.url), 'utf8')) as readonly Case[];

function specOf(row: Case): Partial<StatefulSetSpec> {
  const { partition = 0, maxUnavailable, retention } = row;
  const rollingUpdate = { partition, ...(maxUnavailable === undefined ? {} : { maxUnavailable }) };
  return {
    podManagementPolicy: row.parallel === true ? 'Parallel' : 'OrderedReady',
    updateStrategy: row.onDelete === true ? { type: 'OnDelete' } : { type: 'RollingUpdate', rollingUpdate },
    ...(row.templates === undefined ? {} : { volumeClaimTemplates: row.templates.map(claimTemplate) }),
    ...(retention === undefined
      ? {}
      : { persistentVolumeClaimRetentionPolicy: { whenDeleted: retention[0], whenScaled: retention[1] } }),
    ...row.spec,
  };
}

function observe(row: Case): ObservedStatefulSet {
  const { revisions = { new: 1 }, pods = {}, claims = {} } = row;
  const { current = Object.keys(revisions)[0] ?? '', currentReplicas = 0 } = row;
  const set = statefulSet(specOf(row), {
    replicas: 0,
    currentRevision: current,
    updateRevision: 'was',
    currentReplicas,
  });
  if (row.deleting === true) set.metadata.deletionTimestamp = '2030-01-01T00:00:00Z';
  const found = Object.entries(claims).map(([name, words]) => claimOf(set, name, words.split(' ')));
  return {
    set,
    pods: Object.entries(pods).map(([name, words]) => podOf(set, name, words.split(' '))),
    revisions: Object.entries(revisions).map(([image, number]) => {
      const made = revision(set, image, number);
      if (row.freeRevisions === true) delete made.metadata.ownerReferences;
      return made;
    }),
    findClaim: ({ name }) => found.find(({ metadata }) => metadata.name === name),
  };
}

function statusOf(actions: readonly Action[]): StatefulSetStatus | undefined {
  return actions.find((action) => action.kind === 'updateStatus')?.status;
}

/** The actions without those on the status. Hashes of new revisions are left out. */
function linesOf(actions: readonly Action[]): readonly string[] {
  const lines = actions.filter(({ kind }) => kind !== 'updateStatus').map(describeAction);
  return lines.map((line) => line.replace(/web-[bcdfghjklmnpqrstvwxz2456789]{10}\b/, 'web-*'));
}

describe('planStatefulSet', () => {
  it.each(CASES.map((row) => [row.name, row] as const))('%s', (_, row) => {
    const { actions } = planStatefulSet(observe(row), NOW);
    expect(linesOf(actions)).toEqual(row.expect);
    const { currentReplicas = 0, updatedReplicas = 0, ...counted } = statusOf(actions) ?? { replicas: 0 };
    if (row.status !== undefined) expect({ ...counted, currentReplicas, updatedReplicas }).toMatchObject(row.status);
  });

  it('makes 500 pods of a parallel set at a time, however many are wanted', () => {
    const spec = { replicas: 2 ** 31 - 1, ordinals: { start: 2 ** 31 - 1 } };
    const row = {
      name: '',
      spec,
      parallel: true,
      pods: { 'web-4294967293': 'ready new', 'web-2': 'ready new' },
      expect: [],
    };
    const { actions } = planStatefulSet(observe(row), NOW);
    const lines = linesOf(actions);
    expect([lines.length, lines[0], lines[499]]).toEqual([
      500,
      'create web-2147483647 new',
      'create web-2147484146 new',
    ]);
    expect(statusOf(actions)?.replicas).toBe(2);
  });

  it('looks again when the next pod becomes available', () => {
    const row = { name: '', spec: { minReadySeconds: 30 }, pods: { 'web-0': 'recent new' }, expect: [] };
    expect(planStatefulSet(observe(row), NOW).requeueAt).toBe(NOW + 25_000);
  });

  it('writes no status that is there already, and keeps the conditions of others', () => {
    const observed = observe({ name: '', pods: { 'web-0': 'pending new' }, expect: [] });
    const conditions = [{ type: 'Mine', status: 'True' }];
    const set: StatefulSet = { ...observed.set, status: { replicas: 7, currentRevision: 'new', conditions } };
    const status = statusOf(planStatefulSet({ ...observed, set }, NOW).actions);
    expect(status).toEqual({
      observedGeneration: 1,
      replicas: 1,
      availableReplicas: 0,
      currentReplicas: 1,
      updatedReplicas: 1,
      currentRevision: 'new',
      updateRevision: 'new',
      collisionCount: 0,
      conditions,
    });
    const again = { ...set, ...(status === undefined ? {} : { status }) };
    expect(planStatefulSet({ ...observed, set: again }, NOW).actions).toEqual([]);
  });
});

test('a pod has the identity of its ordinal, its claims as volumes and the labels of both', () => {
  const spec = template('new').spec ?? { containers: [] };
  const set = statefulSet({
    serviceName: 'sv',
    volumeClaimTemplates: [claimTemplate('data')],
    template: {
      ...template('new'),
      spec: {
        ...spec,
        hostname: 'mine',
        subdomain: 'mine',
        volumes: [
          { name: 'data', emptyDir: {} },
          { name: 'tmp', emptyDir: {} },
        ],
      },
    },
  });
  expect(newPod(set, { name: 'web-abc', template: set.spec?.template }, 4)).toEqual({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'web-4',
      generateName: 'web-',
      namespace: 'n',
      labels: {
        app: 'a',
        'controller-revision-hash': 'web-abc',
        'statefulset.kubernetes.io/pod-name': 'web-4',
        'apps.kubernetes.io/pod-index': '4',
      },
      ownerReferences: [
        {
          apiVersion: 'apps/v1',
          kind: 'StatefulSet',
          name: 'web',
          uid: 'set',
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec: {
      ...spec,
      hostname: 'web-4',
      subdomain: 'sv',
      volumes: [
        { name: 'data', persistentVolumeClaim: { claimName: 'data-web-4' } },
        { name: 'tmp', emptyDir: {} },
      ],
    },
  });
});

test('a claim is the template, named by the set and the ordinal, with the labels of the selector', () => {
  const observed = observe({ name: '', templates: ['data'], expect: [] });
  const [action] = planStatefulSet(observed, NOW).actions;
  expect(action?.kind === 'createPod' ? action.claims.create : []).toEqual([
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'data-web-0', namespace: 'n', labels: { kept: 'yes', app: 'a' } },
      spec: claimTemplate('data').spec,
    },
  ]);
});

test('a template that differs only by defaults of a later release starts no update', () => {
  const full = statefulSet();
  const before = revision(full, 'new', 1);
  // The same template as written by a server with more defaults.
  const spec = {
    ...template('new').spec,
    containers: [
      {
        name: 'c',
        image: 'new',
        terminationMessagePath: '/dev/termination-log',
        terminationMessagePolicy: 'File',
        imagePullPolicy: 'Always',
      },
    ],
  };
  const set = statefulSet({
    template: {
      ...template('new'),
      spec: {
        ...spec,
        restartPolicy: 'Always',
        terminationGracePeriodSeconds: 30,
        dnsPolicy: 'ClusterFirst',
        securityContext: {},
        schedulerName: 'default-scheduler',
      },
    },
  });
  expect(historyOf(set, [before])).toMatchObject({ create: undefined, update: { name: 'new' } });
  expect(historyOf(statefulSet({ template: template('other') }), [before]).create).toBeDefined();
});
