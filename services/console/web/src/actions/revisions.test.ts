import type { ControllerRevision, Deployment, ReplicaSet } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { controllerRevisions, deploymentRevisions } from './revisions.ts';

const owned = (uid: string) => [{ apiVersion: 'apps/v1', kind: 'X', name: 'web', uid, controller: true }];
const replicaSet = (revision: string, image: string, uid = 'd'): ReplicaSet => ({
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  metadata: { ownerReferences: owned(uid), annotations: { 'deployment.kubernetes.io/revision': revision } },
  spec: {
    selector: {},
    template: {
      metadata: { labels: { app: 'web', 'pod-template-hash': 'x' } },
      spec: { containers: [{ name: 'web', image }] },
    },
  },
});

describe('revisions', () => {
  it('of a Deployment are those of its ReplicaSets, without the hash, the newest first', () => {
    const deployment: Deployment = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { uid: 'd', annotations: { 'deployment.kubernetes.io/revision': '10' } },
    };
    const found = deploymentRevisions(deployment, [
      replicaSet('9', 'web:1'),
      replicaSet('10', 'web:2'),
      replicaSet('11', 'other', 'another'),
    ]);
    expect(found.map(({ number, isCurrent }) => [number, isCurrent])).toEqual([
      [10, true],
      [9, false],
    ]);
    expect(found[1]?.template).toEqual({
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'web', image: 'web:1' }] },
    });
  });

  it("of a Deployment bring their annotations back, as kubectl does, and leave the Deployment's own", () => {
    const named = (revision: string, cause: string): ReplicaSet => {
      const { metadata, ...rest } = replicaSet(revision, `web:${revision}`);
      const own = { 'deployment.kubernetes.io/desired-replicas': '7', 'kubernetes.io/change-cause': cause };
      return { ...rest, metadata: { ...metadata, annotations: { ...metadata.annotations, ...own } } };
    };
    const deployment: Deployment = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: {
        uid: 'd',
        annotations: {
          'deployment.kubernetes.io/revision': '2',
          'kubectl.kubernetes.io/last-applied-configuration': '{}',
          'kubernetes.io/change-cause': 'second',
        },
      },
    };
    const [, first] = deploymentRevisions(deployment, [named('1', 'first'), named('2', 'second')]);
    expect(first?.annotations).toEqual({
      'deployment.kubernetes.io/revision': '2',
      'kubectl.kubernetes.io/last-applied-configuration': '{}',
      'kubernetes.io/change-cause': 'first',
    });
  });

  it('of a StatefulSet are its ControllerRevisions; the current one has the same template', () => {
    const template = (image: string) => ({ spec: { containers: [{ name: 'db', image }] } });
    const revision = (number: number, image: string): ControllerRevision => ({
      apiVersion: 'apps/v1',
      kind: 'ControllerRevision',
      metadata: { ownerReferences: owned('s') },
      revision: number,
      data: { spec: { template: { $patch: 'replace', ...template(image) } } },
    });
    const workload = {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { uid: 's' },
      spec: { template: template('db:1') },
    };
    const found = controllerRevisions(workload, [revision(1, 'db:1'), revision(2, 'db:2')]);
    expect(found.map(({ number, isCurrent }) => [number, isCurrent])).toEqual([
      [2, false],
      [1, true],
    ]);
    expect(found[1]?.template).toEqual(template('db:1'));
  });
});
