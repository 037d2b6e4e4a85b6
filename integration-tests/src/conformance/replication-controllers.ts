import type { V1Pod, V1ReplicationController, V1ResourceQuota } from '@kubernetes/client-node';
import { expect } from 'vitest';
import { eventually } from '../harness/eventually.ts';
import { KINDS } from './kinds.ts';
import { expectNotFound, retryOnConflict } from './outcome.ts';
import { Resource } from './resource.ts';
import { replicationController } from './workloads.ts';
import { type Proof, proof, type World } from './world.ts';

const DONE_MS = 180_000;
const GARBAGE = '[sig-api-machinery] Garbage collector should';
const REPLICAS = 10;

/** ReplicationControllers and their pods, in a namespace of their own. */
class Controllers {
  readonly controllers: Resource<V1ReplicationController>;
  readonly pods: Resource<V1Pod>;
  readonly quotas: Resource<V1ResourceQuota>;

  constructor(world: World, namespace: string) {
    this.controllers = new Resource(world.cluster, KINDS.ReplicationController, namespace);
    this.pods = new Resource(world.cluster, KINDS.Pod, namespace);
    this.quotas = new Resource(world.cluster, KINDS.ResourceQuota, namespace);
  }

  static async open(world: World): Promise<Controllers> {
    return new Controllers(world, await world.namespace());
  }

  /** Creates one and waits until it reports its pods. */
  async create(name: string, replicas: number): Promise<V1ReplicationController> {
    await this.controllers.create(replicationController(name, replicas));
    return await eventually(`${name} has ${replicas} pods`, DONE_MS, async () => {
      const found = await this.controllers.get(name);
      return found.status?.replicas === replicas && found;
    });
  }

  async delete({ metadata }: V1ReplicationController, propagationPolicy: string): Promise<void> {
    const body = { propagationPolicy, preconditions: { uid: metadata?.uid } };
    await this.controllers.delete(metadata?.name ?? '', { body });
  }

  async untilGone(name: string): Promise<void> {
    await eventually(`${name} is gone`, DONE_MS, async () => {
      await expectNotFound(this.controllers.get(name));
      return true;
    });
  }

  async podsOf(name: string): Promise<readonly V1Pod[]> {
    return (await this.pods.list({ labelSelector: `app=${name}` })).items;
  }

  /** Waits until the collector has worked on something that became garbage just now. */
  async untilCollected(): Promise<void> {
    await this.delete(await this.create('later', 1), 'Background');
    await eventually('the later pods are collected', DONE_MS, async () => (await this.podsOf('later')).length === 0);
  }
}

const ownersOf = (pod: V1Pod) => (pod.metadata?.ownerReferences ?? []).map(({ name }) => name);
const isLeaving = (pod: V1Pod) => pod.metadata?.deletionTimestamp !== undefined;

export const REPLICATION_CONTROLLER_PROOFS: readonly Proof[] = [
  proof(`${GARBAGE} delete pods created by rc when not orphaning [Conformance]`, async (world) => {
    const objects = await Controllers.open(world);
    const created = await objects.controllers.create(replicationController('simpletest', 2));
    await eventually('it has a pod', DONE_MS, async () => (await objects.podsOf('simpletest')).length > 0);
    await objects.delete(created, 'Background');
    await eventually('it and its pods are gone', DONE_MS, async () => {
      const { items } = await objects.controllers.list();
      return items.length === 0 && (await objects.podsOf('simpletest')).length === 0;
    });
  }),

  proof(`${GARBAGE} orphan pods created by rc if delete options say so [Serial] [Conformance]`, async (world) => {
    const objects = await Controllers.open(world);
    await objects.delete(await objects.create('simpletest', REPLICAS), 'Orphan');
    await objects.untilGone('simpletest');
    await objects.untilCollected();
    const pods = await objects.podsOf('simpletest');
    expect(pods).toHaveLength(REPLICAS);
    expect(pods.filter(isLeaving)).toEqual([]);
    expect(pods.flatMap(ownersOf)).toEqual([]);
  }),

  proof(
    `${GARBAGE} keep the rc around until all its pods are deleted if the deleteOptions says so [Serial] [Conformance]`,
    async (world) => {
      const objects = await Controllers.open(world);
      await objects.delete(await objects.create('simpletest', REPLICAS), 'Foreground');
      await objects.untilGone('simpletest');
      expect(await objects.podsOf('simpletest')).toEqual([]);
    },
  ),

  proof(
    `${GARBAGE} not delete dependents that have both valid owner and owner that's waiting for dependents to be deleted [Serial] [Conformance]`,
    async (world) => {
      const objects = await Controllers.open(world);
      const deleted = await objects.create('to-be-deleted', REPLICAS);
      const { metadata } = await objects.create('to-stay', 0);
      const { name = '', uid = '' } = metadata ?? {};
      const kept = (await objects.podsOf('to-be-deleted')).slice(0, REPLICAS / 2);
      const ownerReferences = [{ apiVersion: 'v1', kind: 'ReplicationController', name, uid }];
      for (const pod of kept)
        await objects.pods.patch(pod.metadata?.name ?? '', 'strategic', { metadata: { ownerReferences } });
      await objects.delete(deleted, 'Foreground');
      await objects.untilGone('to-be-deleted');
      const left = await objects.podsOf('to-be-deleted');
      expect(left.map((pod) => pod.metadata?.uid).toSorted()).toEqual(kept.map((pod) => pod.metadata?.uid).toSorted());
      expect(left.filter(isLeaving)).toEqual([]);
      expect(left.map(ownersOf)).toEqual(Array(REPLICAS / 2).fill(['to-stay']));
    },
  ),

  proof(
    '[sig-apps] ReplicationController should surface a failure condition on a common issue like exceeded quota [Conformance]',
    async (world) => {
      const objects = await Controllers.open(world);
      const name = 'condition-test';
      await objects.quotas.create({ metadata: { name }, spec: { hard: { pods: '2' } } });
      await eventually('the quota is in force', DONE_MS, async () => {
        return (await objects.quotas.get(name)).status?.hard?.['pods'] === '2';
      });
      await objects.controllers.create(replicationController(name, 3));
      const untilFailure = (what: string, expected: boolean) =>
        eventually(what, DONE_MS, async () => {
          const { metadata, status } = await objects.controllers.get(name);
          if ((metadata?.generation ?? 0) > (status?.observedGeneration ?? 0)) return false;
          return (status?.conditions ?? []).some(({ type }) => type === 'ReplicaFailure') === expected;
        });
      await untilFailure('it reports that a pod is refused', true);
      await retryOnConflict(async () => {
        const found = await objects.controllers.get(name);
        if (found.spec !== undefined) found.spec.replicas = 2;
        return await objects.controllers.replace(found);
      });
      await untilFailure('it reports no failure any more', false);
    },
  ),
];
