import { must, pause } from '@gantry/base';
import type { ManualClock } from '@gantry/base/testing';
import { ignoreReasons, type ObjectClient } from '@gantry/client';
import {
  apiVersionOf,
  controllerOf,
  isReason,
  keyOf,
  type KubeObject,
  type Namespace,
  NAMESPACES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  PODS,
  type PodTemplateSpec,
  REPLICA_SETS,
  type Resource,
} from '@gantry/objects';
import type { Activity } from '@gantry/controller-runtime/testing';
import type { Nodes } from './nodes.ts';
import type { NamedOwner, Operation, Step } from './operation.ts';
import type { SimulatedKind } from './simulated-kind.ts';
import type { World } from './world.ts';

export interface UsersOptions {
  readonly client: ObjectClient;
  readonly world: World;
  readonly clock: ManualClock;
  readonly activity: Activity;
  readonly nodes: Nodes;
  /** Called before a user deletes an object. */
  readonly onDelete: (object: KubeObject) => void;
  readonly signal: AbortSignal;
}

const LOOK_MS = 250;
/** How long a user waits, in simulated time. This is enough for an eviction from a lost node and some back-offs. */
const PATIENCE_MS = 900_000;

/** Is thrown when something that a user waits for does not happen in time. */
export class ImpatientError extends Error {
  override readonly name = 'ImpatientError';
}

/** Plays a history, one operation after the other. */
export async function playHistory(options: UsersOptions, steps: readonly Step[]): Promise<void> {
  for (const { pauseMs, operation } of steps) {
    await pause(options.clock, pauseMs, options.signal);
    await perform(options, operation);
  }
}

async function perform(options: UsersOptions, operation: Operation): Promise<void> {
  const { client, nodes, world, signal } = options;
  switch (operation.kind) {
    case 'create': {
      const { resource } = operation.of;
      await until(options, `${nameOf(operation.object)} can be created`, async () => {
        // The remaining objects of a predecessor still use names: the hash of a ReplicaSet would collide.
        if (hasDependents(world, operation.object)) return false;
        try {
          await client.create(resource, withOwners(world, operation.object, operation.owners), signal);
          return true;
        } catch (error) {
          // The predecessor of the object or of its namespace is not gone yet.
          if (isReason(error, 'AlreadyExists') || isReason(error, 'Forbidden') || isReason(error, 'NotFound'))
            return false;
          throw error;
        }
      });
      return;
    }
    case 'change': {
      const { of, object, patch } = operation;
      await untilSeen(options, of, object);
      await client.patch(of.resource, keyOf(object), { merge: patch }, signal);
      return;
    }
    case 'delete': {
      const { of, object, propagation } = operation;
      await untilSeen(options, of, object);
      // Otherwise it would be random how many pods are left behind.
      if (propagation === 'Orphan') await untilSteady(options, of.resource, object);
      options.onDelete(object);
      await client.delete(of.resource, keyOf(object), { propagationPolicy: propagation }, signal);
      return;
    }
    case 'own':
      await own(options, operation);
      return;
    case 'evict':
      await evict(options, operation);
      return;
    case 'lose-node':
      nodes.lose(operation.node);
      return;
    case 'restore-node':
      nodes.restore(operation.node);
      return;
    case 'end-namespace': {
      const { namespace: name } = operation;
      for (const claim of world.all(PERSISTENT_VOLUME_CLAIMS))
        if (claim.metadata.namespace === name) await untilBound(options, claim);
      const namespace: Namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
      await client.delete(NAMESPACES, { namespace: '', name }, {}, signal);
      await until(options, `namespace ${name} is gone`, async () => world.get(NAMESPACES, '', name) === undefined);
      await client.create(NAMESPACES, namespace, signal);
    }
  }
}

/** Whether any object has an owner reference with this kind and name. It is asked before the object is created. */
function hasDependents(world: World, { kind, metadata }: KubeObject): boolean {
  for (const [, object] of world.everything()) {
    const { namespace, ownerReferences = [] } = object.metadata;
    if (namespace !== metadata.namespace) continue;
    if (ownerReferences.some((owner) => owner.kind === kind && owner.name === metadata.name)) return true;
  }
  return false;
}

function withOwners(world: World, object: KubeObject, owners: readonly NamedOwner[] = []): KubeObject {
  if (owners.length === 0) return object;
  const { metadata } = object;
  const { namespace = '', ownerReferences = [] } = metadata;
  const added = owners.map(({ resource, name, blocks }) => {
    const { uid = '' } = must(world.get(resource, namespace, name), name).metadata;
    return { apiVersion: apiVersionOf(resource), kind: resource.kind, name, uid, blockOwnerDeletion: blocks };
  });
  return { ...object, metadata: { ...metadata, ownerReferences: [...ownerReferences, ...added] } };
}

async function own(options: UsersOptions, { of, object, owner }: Extract<Operation, { kind: 'own' }>): Promise<void> {
  const { client, world, signal } = options;
  const { namespace = '', name = '' } = object.metadata;
  const owned = must(world.get(of.resource, namespace, name), name);
  const { ownerReferences } = withOwners(world, owned, [owner]).metadata;
  await client.patch(of.resource, { namespace, name }, { merge: { metadata: { ownerReferences } } }, signal);
}

async function evict(options: UsersOptions, { namespace, app }: Extract<Operation, { kind: 'evict' }>): Promise<void> {
  const { client, world, signal } = options;
  for (const { metadata } of world.all(PODS)) {
    if (metadata.namespace !== namespace || metadata.labels?.['app'] !== app) continue;
    const { name = '' } = metadata;
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace } };
    // The server refuses when a budget allows no further eviction, or when it has not been computed yet.
    await ignoreReasons(
      client.createSubresource(PODS, { namespace, name, subresource: 'eviction' }, eviction, signal),
      ['TooManyRequests', 'NotFound', 'InternalError', 'Conflict'],
    );
  }
}

interface Observed extends KubeObject {
  spec?: {
    replicas?: number;
    paused?: boolean;
    strategy?: { type?: string };
    selector?: Record<string, string> & { matchLabels?: Record<string, string> };
    template?: PodTemplateSpec;
  };
  status?: {
    observedGeneration?: number;
    replicas?: number;
    currentNumberScheduled?: number;
    desiredNumberScheduled?: number;
  };
}

async function untilSeen(options: UsersOptions, of: SimulatedKind, object: KubeObject): Promise<void> {
  if (of.waits === 'until-observed') await untilObserved(options, of.resource, object);
  if (of.waits === 'until-bound') await untilBound(options, object);
}

/** Waits until a claim is bound if there is a volume for it. A volume keeps the name of a claim that it was bound to. */
function untilBound(options: UsersOptions, { kind, metadata }: KubeObject): Promise<void> {
  const { world } = options;
  const { namespace = '', name = '' } = metadata;
  return until(options, `${kind} ${namespace}/${name} is bound`, async () => {
    const { spec, status } = world.get(PERSISTENT_VOLUME_CLAIMS, namespace, name) ?? {};
    const fits = (volume: PersistentVolume) => volume.spec?.storageClassName === spec?.storageClassName;
    const free = world.all(PERSISTENT_VOLUMES).some((volume) => fits(volume) && isFree(volume, name));
    return status?.phase === 'Bound' || !free;
  });
}

/** Whether a volume is reserved for no claim, or is being bound to this one. */
function isFree({ spec, status }: PersistentVolume, claim: string): boolean {
  return spec?.claimRef === undefined || (spec.claimRef.name === claim && status?.phase !== 'Released');
}

function untilObserved(options: UsersOptions, resource: Resource, object: KubeObject): Promise<void> {
  const { namespace = '', name } = keyOf(object);
  return until(options, `${nameOf(object)} is observed`, async () => {
    const now = options.world.get<Observed>(resource, namespace, name);
    if (now?.status?.observedGeneration !== now?.metadata.generation) return false;
    // A Deployment with the strategy Recreate waits until the pods of its other sets have ended before it creates a set for its template.
    return now?.spec?.strategy?.type !== 'Recreate' || now.spec.paused === true || hasNewSet(options.world, now);
  });
}

function hasNewSet(world: World, { metadata, spec }: Observed): boolean {
  const image = (template?: PodTemplateSpec) =>
    JSON.stringify([template?.spec?.containers, template?.metadata?.annotations]);
  return world
    .all(REPLICA_SETS)
    .some((set) => controllerOf(set)?.uid === metadata.uid && image(set.spec?.template) === image(spec?.template));
}

/** This is longer than a controller is absent after a crash, including the back-offs that occur in a history. */
const STEADY_MS = 60_000;

/** Waits until a set has as many pods as it wants and has replaced none for a while, because it may be rolling out an update. */
function untilSteady(options: UsersOptions, resource: Resource, object: KubeObject): Promise<void> {
  const { clock, world } = options;
  const { namespace = '', name } = keyOf(object);
  let [seen, since] = ['', clock.now()];
  return until(options, `${nameOf(object)} is steady`, async () => {
    const { spec, status } = world.get<Observed>(resource, namespace, name) ?? {};
    const { replicas = 0, currentNumberScheduled = 0, desiredNumberScheduled = 0 } = status ?? {};
    // A rollout that cannot go on keeps the pods of its surge.
    const isComplete = replicas >= (spec?.replicas ?? 0) && currentNumberScheduled === desiredNumberScheduled;
    const selected = spec?.selector?.matchLabels ?? spec?.selector;
    if (selected === undefined) return isComplete;
    const pods = world
      .all(PODS)
      .filter(({ metadata }) => metadata.namespace === namespace && hasAll(metadata.labels, selected));
    const now = pods.map(({ metadata }) => `${metadata.uid} ${metadata.deletionTimestamp}`).join();
    if (now !== seen || !isComplete) [seen, since] = [now, clock.now()];
    return clock.now() - since >= STEADY_MS;
  });
}

function hasAll(labels: Readonly<Record<string, string>> = {}, wanted: Readonly<Record<string, string>>): boolean {
  return Object.entries(wanted).every(([key, value]) => labels[key] === value);
}

/** Repeats the check in simulated time until it is true. */
async function until(
  { clock, activity, signal }: UsersOptions,
  what: string,
  isSo: () => Promise<boolean>,
): Promise<void> {
  const end = clock.now() + PATIENCE_MS;
  while (!(await activity.of(isSo))) {
    if (clock.now() > end) throw new ImpatientError(`waited in vain: ${what}`);
    await pause(clock, LOOK_MS, signal);
  }
}

function nameOf({ kind, metadata }: KubeObject): string {
  return `${kind} ${metadata.namespace ?? ''}/${metadata.name}`;
}
