import { pause } from '@gantry/base';
import { type ConfigMap, CONFIG_MAPS, type ObjectKey } from '@gantry/objects';
import { type Outcome, RecordedClient } from './recorded-client.ts';
import { untilRight } from './until-right.ts';
import type { RunningWorkload, Workload, WorkloadContext } from './workload.ts';

const EVERY_MS = 1_000;
const FINALIZER = 'gantry.chaos/held';
const ATTEMPTS = 200;

/** Objects that are deleted while a finalizer holds them. */
export const FINALIZER_WORKLOAD: Workload = {
  name: 'finalizers',
  what: 'Objects with a finalizer are deleted; each one is there until the finalizer is taken away, and then gone.',
  start: startFinalizers,
};

async function startFinalizers(context: WorkloadContext, stop: AbortSignal): Promise<RunningWorkload> {
  const client = new RecordedClient(context, 'finalizers-0');
  const violations: string[] = [];
  const released: ObjectKey[] = [];
  const working = work(context, { client, violations, released }, stop);
  return await Promise.resolve({
    finish: async () => {
      await working;
      const wrong = await untilRight(context.clock, async (signal) => {
        const { items } = await client.api.list(CONFIG_MAPS, { namespace: context.namespace }, signal);
        const names = new Set(items.map(({ metadata }) => metadata.name));
        return released.flatMap(({ name }) => (names.has(name) ? [`${name} is there without its finalizer`] : []));
      });
      client.api[Symbol.dispose]();
      return [...violations, ...wrong];
    },
  });
}

interface Work {
  readonly client: RecordedClient;
  readonly violations: string[];
  readonly released: ObjectKey[];
}

async function work(
  { clock, namespace }: WorkloadContext,
  { client, ...found }: Work,
  stop: AbortSignal,
): Promise<void> {
  const { api } = client;
  for (let number = 0; !stop.aborted; number++) {
    const key = { namespace, name: `held-${number}` };
    const about = { resource: CONFIG_MAPS, key } as const;
    const create = () =>
      client.send({ verb: 'create', ...about }, (signal) => api.create(CONFIG_MAPS, heldObject(key), signal));
    if (!(await isDone(clock, create, 409))) continue;
    const remove = () =>
      client.send({ verb: 'delete', ...about }, (signal) => api.delete(CONFIG_MAPS, key, {}, signal));
    if (!(await isDone(clock, remove))) continue;
    const read = await client.send({ verb: 'get', ...about }, (signal) => api.get(CONFIG_MAPS, key, signal));
    if (read.kind === 'ok' && read.object === undefined)
      found.violations.push(`${key.name} is gone with its finalizer`);
    if (read.kind === 'ok' && read.object !== undefined && read.object.metadata.deletionTimestamp === undefined) {
      found.violations.push(`${key.name} has no deletion time after its deletion was acknowledged`);
    }
    const release = { merge: { metadata: { finalizers: null } } };
    const patch = () =>
      client.send({ verb: 'patch', ...about }, (signal) => api.patch(CONFIG_MAPS, key, release, signal));
    // Not found: an attempt whose outcome was unknown has taken it away.
    if (await isDone(clock, patch, 404)) found.released.push(key);
    await pause(clock, EVERY_MS, stop);
  }
}

/** Repeats a request until it is done, or refused with the code that says that an earlier attempt has done it. */
async function isDone(
  clock: WorkloadContext['clock'],
  attempt: () => Promise<Outcome>,
  doneCode?: number,
): Promise<boolean> {
  for (let left = ATTEMPTS; left > 0; left--) {
    const outcome = await attempt();
    if (outcome.kind === 'ok' || (outcome.kind === 'fail' && outcome.code === doneCode)) return true;
    await pause(clock, EVERY_MS, new AbortController().signal);
  }
  return false;
}

function heldObject({ namespace, name }: ObjectKey): ConfigMap {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace, finalizers: [FINALIZER] } };
}
