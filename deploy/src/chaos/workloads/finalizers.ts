import { pause } from '@gantry/base';
import {
  CONFIG_MAPS,
  CUSTOM_RESOURCE_DEFINITIONS,
  type CustomResourceDefinition,
  type KubeObject,
  type ObjectKey,
  type Resource,
} from '@gantry/objects';
import { CHAOS_LABEL } from '../engine.ts';
import { CommandError } from '../../machine/command-error.ts';
import { type Outcome, RecordedClient } from './recorded-client.ts';
import type { RunningWorkload, Workload, WorkloadContext } from './workload.ts';

const EVERY_MS = 1_000;
const FINALIZER = 'gantry.chaos/held';
const ATTEMPTS = 200;
const SERVED_MS = 30_000;

/** A custom resource of the workload. Its definition is the cluster's, not the namespace's. */
const HELD: Resource = { group: 'chaos.gantry.dev', version: 'v1', resource: 'helds', kind: 'Held', namespaced: true };
/** Kinds whose objects have finalizers. */
export const HELD_KINDS: readonly Resource[] = [CONFIG_MAPS, HELD];

/** Objects that are deleted while a finalizer holds them. */
export const FINALIZER_WORKLOAD: Workload = {
  name: 'finalizers',
  what: 'ConfigMaps and custom resources with a finalizer are deleted; each one is there until the finalizer is taken away, and then gone.',
  start: startFinalizers,
};

async function startFinalizers(context: WorkloadContext, stop: AbortSignal): Promise<RunningWorkload> {
  await define(context);
  const holders = HELD_KINDS.map((resource, index): Holder => {
    const client = new RecordedClient(context, `finalizers-${index}`);
    return { client, resource, violations: [], released: [] };
  });
  const working = holders.map((holder) => work(context, holder, stop));
  return {
    finish: async () => {
      await Promise.all(working);
      const wrong = await context.untilRight(async (signal) =>
        (await Promise.all(holders.map((holder) => leftOver(context, holder, signal)))).flat(),
      );
      return [...holders.flatMap(({ violations }) => violations), ...wrong];
    },
  };
}

/** One client, and the kind of its objects. */
interface Holder {
  readonly client: RecordedClient;
  readonly resource: Resource;
  readonly violations: string[];
  readonly released: ObjectKey[];
}

/** Makes the custom resource, and waits until it is served. */
async function define({ namespace, connect, create, untilRight }: WorkloadContext): Promise<void> {
  await create(CUSTOM_RESOURCE_DEFINITIONS, definition());
  const api = connect();
  const wrong = await untilRight(async (signal) => (await api.list(HELD, { namespace }, signal), []), SERVED_MS);
  if (wrong.length > 0) throw new CommandError(`the custom resource ${HELD.resource} is not served: ${wrong.join()}`);
}

async function leftOver({ namespace }: WorkloadContext, { client, resource, released }: Holder, signal: AbortSignal) {
  const { items } = await client.api.list(resource, { namespace }, signal);
  const names = new Set(items.map(({ metadata }) => metadata.name));
  return released.flatMap(({ name }) => (names.has(name) ? [`${name} is there without its finalizer`] : []));
}

async function work(
  context: WorkloadContext,
  { client, resource, ...found }: Holder,
  stop: AbortSignal,
): Promise<void> {
  const { clock, namespace } = context;
  const { api } = client;
  for (let number = 0; !stop.aborted; number++) {
    const key = { namespace, name: `held-${number}` };
    const about = { resource, key } as const;
    const create = () =>
      client.send({ verb: 'create', ...about }, (signal) => api.create(resource, heldObject(resource, key), signal));
    if (!(await isDone(context, create, 409))) continue;
    const remove = () => client.send({ verb: 'delete', ...about }, (signal) => api.delete(resource, key, {}, signal));
    if (!(await isDone(context, remove))) continue;
    const read = await client.send({ verb: 'get', ...about }, (signal) => api.get(resource, key, signal));
    if (read.kind === 'ok' && read.object === undefined)
      found.violations.push(`${key.name} is gone with its finalizer`);
    if (read.kind === 'ok' && read.object !== undefined && read.object.metadata.deletionTimestamp === undefined) {
      found.violations.push(`${key.name} has no deletion time after its deletion was acknowledged`);
    }
    const release = { merge: { metadata: { finalizers: null } } };
    const patch = () => client.send({ verb: 'patch', ...about }, (signal) => api.patch(resource, key, release, signal));
    // Not found: an attempt whose outcome was unknown has taken it away.
    if (await isDone(context, patch, 404)) found.released.push(key);
    await pause(clock, EVERY_MS, stop);
  }
}

/** Repeats a request until it is done, or refused with the code that says that an earlier attempt has done it. */
async function isDone(
  { clock, interrupted }: WorkloadContext,
  attempt: () => Promise<Outcome>,
  doneCode?: number,
): Promise<boolean> {
  for (let left = ATTEMPTS; left > 0 && !interrupted.aborted; left--) {
    const outcome = await attempt();
    if (outcome.kind === 'ok' || (outcome.kind === 'fail' && outcome.code === doneCode)) return true;
    await pause(clock, EVERY_MS, interrupted);
  }
  return false;
}

function heldObject({ group, version, kind }: Resource, { namespace, name }: ObjectKey): KubeObject {
  const apiVersion = group === '' ? version : `${group}/${version}`;
  return { apiVersion, kind, metadata: { name, namespace, finalizers: [FINALIZER] } };
}

function definition(): CustomResourceDefinition {
  const { group, version, resource, kind } = HELD;
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${resource}.${group}`, labels: { [CHAOS_LABEL]: 'workload' } },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural: resource, singular: 'held', kind, listKind: `${kind}List` },
      versions: [{ name: version, served: true, storage: true, schema }],
    },
  };
}
