import { pause } from '@gantry/base';
import type { ManualClock } from '@gantry/base/testing';
import type { ObjectClient } from '@gantry/client';
import { isReason, keyOf, type KubeObject, NAMESPACES, type Namespace, type Resource } from '@gantry/objects';
import type { Activity } from './activity.ts';
import type { Operation, Step } from './history.ts';
import type { Nodes } from './nodes.ts';
import type { World } from './world.ts';

export interface UsersOptions {
  readonly client: ObjectClient;
  readonly world: World;
  readonly clock: ManualClock;
  readonly activity: Activity;
  readonly nodes: Nodes;
  readonly signal: AbortSignal;
}

const LOOK_MS = 250;
/** How long what a user waits for may take, of simulated time: an eviction from a lost node and a few back-offs. */
const PATIENCE_MS = 900_000;

/** Something that a user waited for in vain. */
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
        try {
          await client.create(resource, operation.object, signal);
          return true;
        } catch (error) {
          // Its predecessor, or its namespace's, is not gone yet.
          if (isReason(error, 'AlreadyExists') || isReason(error, 'Forbidden') || isReason(error, 'NotFound')) return false;
          throw error;
        }
      });
      return;
    }
    case 'change': {
      const { of, object, patch } = operation;
      if (of.waits === 'until-observed') await untilObserved(options, of.resource, object);
      await client.patch(of.resource, keyOf(object), { merge: patch }, signal);
      return;
    }
    case 'delete': {
      const { of, object, propagation } = operation;
      if (of.waits === 'until-observed') await untilObserved(options, of.resource, object);
      await client.delete(of.resource, keyOf(object), { propagationPolicy: propagation }, signal);
      return;
    }
    case 'lose-node':
      nodes.lose(operation.node);
      return;
    case 'restore-node':
      nodes.restore(operation.node);
      return;
    case 'end-namespace': {
      const { namespace: name } = operation;
      const namespace: Namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
      await client.delete(NAMESPACES, { namespace: '', name }, {}, signal);
      await until(options, `namespace ${name} is gone`, async () => world.get(NAMESPACES, '', name) === undefined);
      await client.create(NAMESPACES, namespace, signal);
    }
  }
}

interface Observed extends KubeObject {
  status?: { observedGeneration?: number };
}

function untilObserved(options: UsersOptions, resource: Resource, object: KubeObject): Promise<void> {
  const { namespace = '', name } = keyOf(object);
  return until(options, `${nameOf(object)} is observed`, async () => {
    const now = options.world.get(resource, namespace, name) as Observed | undefined;
    return now?.status?.observedGeneration === now?.metadata.generation;
  });
}

/** Looks again and again, in simulated time. */
async function until({ clock, activity, signal }: UsersOptions, what: string, isSo: () => Promise<boolean>): Promise<void> {
  const end = clock.now() + PATIENCE_MS;
  while (!(await activity.of(isSo))) {
    if (clock.now() > end) throw new ImpatientError(`waited in vain: ${what}`);
    await pause(clock, LOOK_MS, signal);
  }
}

function nameOf({ kind, metadata }: KubeObject): string {
  return `${kind} ${metadata.namespace ?? ''}/${metadata.name}`;
}
