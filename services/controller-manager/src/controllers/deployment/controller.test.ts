import type { ObjectWrite } from '@gantry/client';
import {
  cloneJson,
  controllerOf,
  type Deployment,
  DEPLOYMENTS,
  type Pod,
  PODS,
  REPLICA_SETS,
  type ReplicaSet,
  StatusError,
} from '@gantry/objects';
import { createMetrics } from '@gantry/service';
import { describe, expect, it } from 'vitest';
import { podSetMeter } from '../../metrics/workloads.ts';
import { createControllerHarness } from '../../testing/controller-harness.ts';
import { createReplicaSetController } from '../replica-set/controller.ts';
import { deploymentController } from './controller.ts';

const labels = { app: 'a' };

function deployment(change: Partial<NonNullable<Deployment['spec']>> = {}): Deployment {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'site', namespace: 'n', generation: 1 },
    spec: {
      replicas: 1,
      progressDeadlineSeconds: 600,
      selector: { matchLabels: labels },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'app:1' }] } },
      ...change,
    },
  };
}

/** A controller harness that contains `site`. */
async function withSite(change: Partial<NonNullable<Deployment['spec']>> = {}) {
  const harness = createControllerHarness();
  const { client, stop } = harness;
  await client.put(DEPLOYMENTS, deployment(change));
  const stored = () => client.all(DEPLOYMENTS)[0] ?? deployment();
  const edit = async (how: (site: Deployment) => void) => {
    const copy = cloneJson(stored());
    how(copy);
    await client.update(DEPLOYMENTS, copy, stop.signal);
  };
  const setImage = (image: string) =>
    edit(({ spec }) => {
      if (spec?.template.spec !== undefined) spec.template.spec.containers = [{ name: 'c', image }];
    });
  const makeReady = async () => {
    for (const pod of client.all(PODS)) {
      const ready: Pod = { ...pod, status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } };
      await client.updateStatus(PODS, ready, stop.signal);
    }
  };
  const reported = () =>
    harness.events('Deployment').map(({ type, reason, message }) => `${type} ${reason} ${message}`);
  const images = () =>
    client.all(REPLICA_SETS).map(({ spec }) => `${spec?.template?.spec?.containers[0]?.image} ${spec?.replicas}`);
  return { ...harness, stored, edit, setImage, makeReady, reported, images };
}

const refuseSets =
  (error: StatusError) =>
  async ({ verb, resource }: ObjectWrite) => {
    if (verb === 'create' && resource.resource === 'replicasets') throw error;
  };

describe('a new set that cannot be created', () => {
  it('is reported in the status and an Event, and tried again', async () => {
    const { clock, stored, reported, client, run } = await withSite();
    run([deploymentController], { meanwhile: refuseSets(new StatusError('Forbidden', 'exceeded quota')) });
    await clock.advance(1000);
    const message = expect.stringMatching(/^Failed to create new replica set "site-\w+": exceeded quota$/);
    expect(stored().status?.conditions).toMatchObject([
      { type: 'Progressing', status: 'False', reason: 'ReplicaSetCreateError', message },
    ]);
    expect(new Set(reported()).size).toBe(1);
    expect(reported()[0]).toMatch(/^Warning ReplicaSetCreateError Failed to create/);
    const statusWrites = client.writes.filter(
      ({ verb, resource }) => verb === 'update' && resource.resource === 'deployments',
    );
    expect(statusWrites).toHaveLength(1);
  });

  it('is not reported and not tried again in a terminating namespace', async () => {
    const { clock, stored, reported, client, run } = await withSite();
    const causes = [{ reason: 'NamespaceTerminating' }];
    let tried = 0;
    const terminating = refuseSets(new StatusError('Forbidden', 'is being terminated', { details: { causes } }));
    run([deploymentController], {
      meanwhile: async (write) => {
        if (write.resource.resource === 'replicasets') tried += 1;
        await terminating(write);
      },
    });
    await clock.advance(60_000);
    expect(tried).toBe(1);
    expect(reported()).toEqual([]);
    expect(stored().status).toBeUndefined();
    expect(client.all(REPLICA_SETS)).toEqual([]);
  });

  it('gets another name where the name belongs to a set with another template', async () => {
    const { clock, stored, client, run, stop } = await withSite();
    run([deploymentController]);
    await clock.advance(1000);
    const [first] = client.all(REPLICA_SETS);
    const name = first?.metadata.name ?? '';
    stop.abort();
    const second = await withSite();
    const foreign: ReplicaSet = { apiVersion: 'apps/v1', kind: 'ReplicaSet', metadata: { name, namespace: 'n' } };
    await second.client.put(REPLICA_SETS, foreign);
    second.run([deploymentController]);
    await second.clock.advance(5000);
    const names = second.client.all(REPLICA_SETS).map(({ metadata }) => metadata.name);
    expect(names).toHaveLength(2);
    expect(new Set(names).size).toBe(2);
    expect(second.stored().status?.collisionCount).toBe(1);
    expect(stored().status?.collisionCount).toBeUndefined();
  });
});

it('does not adopt for a Deployment that is gone from the store', async () => {
  const { clock, client, stop, run } = await withSite({ replicas: 0 });
  const orphan: ReplicaSet = {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: { name: 'orphan', namespace: 'n', labels },
    spec: { replicas: 0, selector: { matchLabels: labels } },
  };
  await client.put(REPLICA_SETS, orphan);
  let asked: 'no' | 'yes' = 'no';
  const reach = async (_: AbortSignal, { verb, resource }: { verb: string; resource?: string }) => {
    if (verb !== 'get' || resource !== 'deployments' || asked === 'yes') return;
    asked = 'yes';
    await client.delete(DEPLOYMENTS, { namespace: 'n', name: 'site' }, {}, stop.signal);
  };
  run([deploymentController], { reach });
  await clock.advance(1000);
  expect(asked).toBe('yes');
  expect(client.all(REPLICA_SETS).map(controllerOf)).toEqual([undefined]);
});

it('only reports a selector that selects everything', async () => {
  const { clock, client, stored, reported, run } = await withSite({ selector: {} });
  run([deploymentController]);
  await clock.advance(1000);
  expect(client.all(REPLICA_SETS)).toEqual([]);
  expect(stored().status).toEqual({ observedGeneration: 1 });
  expect(new Set(reported())).toEqual(
    new Set(['Warning SelectingAll This deployment is selecting all pods. A non-empty selector is required.']),
  );
});

it('rolls back by annotation, with an Event, and rolls out what it went back to', async () => {
  const { clock, edit, setImage, makeReady, reported, stored, images, run } = await withSite();
  const settle = async () => {
    for (let i = 0; i < 4; i++) {
      await clock.advance(1000);
      await makeReady();
    }
    await clock.advance(1000);
  };
  run([deploymentController, createReplicaSetController(podSetMeter(createMetrics()))]);
  await settle();
  await setImage('app:2');
  await settle();
  expect(images()).toEqual(['app:1 0', 'app:2 1']);
  await edit(({ metadata }) => {
    metadata.annotations = { ...metadata.annotations, 'deprecated.deployment.rollback.to': '0' };
  });
  await settle();
  expect(images()).toEqual(['app:1 1', 'app:2 0']);
  expect(reported()).toContain('Normal DeploymentRollback Rolled back deployment "site" to revision 1');
  expect(stored().metadata.annotations).toEqual({ 'deployment.kubernetes.io/revision': '3' });
});

it('creates the first new pod of a Recreate when the last old one has ended', async () => {
  const { clock, client, stop, setImage, makeReady, run } = await withSite({ strategy: { type: 'Recreate' } });
  run([deploymentController, createReplicaSetController(podSetMeter(createMetrics()))]);
  await clock.advance(1000);
  const [old] = client.all(PODS);
  if (old === undefined) expect.unreachable();
  // The pod takes a while to end.
  await client.update(PODS, { ...old, metadata: { ...old.metadata, finalizers: ['example.org/slow'] } }, stop.signal);
  await makeReady();
  await setImage('app:2');
  await clock.advance(5000);
  expect(client.all(PODS)).toHaveLength(1);
  const ending = cloneJson(client.all(PODS)[0] ?? old);
  expect(ending.metadata.deletionTimestamp).toBeDefined();
  await client.updateStatus(PODS, { ...ending, status: { phase: 'Succeeded' } }, stop.signal);
  await clock.advance(5000);
  expect(
    client
      .all(PODS)
      .map(({ spec }) => spec?.containers[0]?.image)
      .sort(),
  ).toEqual(['app:1', 'app:2']);
});
