import { pause, type Random } from '@gantry/base';
import { type ConfigMap, CONFIG_MAPS, isReason, type KubeObject } from '@gantry/objects';
import { CommandError } from '../../machine/command-error.ts';
import { RecordedClient } from './recorded-client.ts';
import type { RunningWorkload, Workload, WorkloadContext } from './workload.ts';

const CLIENTS = 4;
const COUNTERS = 6;
const EVERY_MS = 50;

const valueOf = (object: KubeObject) => (object as ConfigMap).data?.['value'];
const countOf = (value: string | undefined) => Number(value?.split('@')[0] ?? Number.NaN);

/** Clients that read a number and write the next one, guarded by its version. */
export const COUNTER_WORKLOAD: Workload = {
  name: 'counters',
  restores: 'known',
  what: 'Clients increment numbers in ConfigMaps by guarded updates; each acknowledged increment must count.',
  start: startCounters,
};

interface Counter {
  readonly name: string;
  /** Versions of acknowledged increments. */
  readonly acknowledged: string[];
  unknown: number;
}

async function startCounters(context: WorkloadContext, stop: AbortSignal): Promise<RunningWorkload> {
  const { namespace } = context;
  const counters: readonly Counter[] = Array.from({ length: COUNTERS }, (_, index) => ({
    name: `counter-${index}`,
    acknowledged: [],
    unknown: 0,
  }));
  const first = new RecordedClient(context, 'counters-0');
  const others = Array.from(
    { length: CLIENTS - 1 },
    (_, index) => new RecordedClient(context, `counters-${index + 1}`),
  );
  const clients = [first, ...others];
  for (const { name } of counters) {
    let attempts = 0;
    const wrong = await context.untilRight(async () => {
      const value = `0@start.${++attempts}`;
      const request = {
        verb: 'create',
        resource: CONFIG_MAPS,
        key: { namespace, name },
        value,
        readValue: valueOf,
      } as const;
      const object = counterObject(namespace, name, value);
      const sent = await first.send(request, (signal) => first.api.create(CONFIG_MAPS, object, signal));
      // Refused by an earlier attempt, whose outcome was unknown.
      const isThere = sent.kind === 'ok' || (sent.kind === 'fail' && sent.code === 409 && attempts > 1);
      return isThere ? [] : [`${name} is not created`];
    });
    if (wrong.length > 0) throw new CommandError(`counters: ${wrong.join('; ')} before the load`);
  }
  const working = clients.map((client, index) => work(context, { client, counters, index }, stop));
  return {
    finish: async () => {
      await Promise.all(working);
      return await judge(context, counters);
    },
  };
}

interface Worker {
  readonly client: RecordedClient;
  readonly counters: readonly Counter[];
  readonly index: number;
}

async function work(context: WorkloadContext, { client, counters, index }: Worker, stop: AbortSignal): Promise<void> {
  const { clock, namespace, random } = context;
  for (let turn = 0; !stop.aborted; turn++) {
    const counter = pick(counters, random);
    const key = { namespace, name: counter.name };
    const read = await client.send({ verb: 'get', resource: CONFIG_MAPS, key, readValue: valueOf }, (signal) =>
      client.api.get(CONFIG_MAPS, key, signal),
    );
    if (read.kind === 'ok' && read.object !== undefined && random() < 0.7) {
      const { resourceVersion } = read.object.metadata;
      const value = `${countOf(valueOf(read.object)) + 1}@${index}.${turn}`;
      const object = counterObject(namespace, counter.name, value, resourceVersion);
      const request = {
        verb: 'update',
        resource: CONFIG_MAPS,
        key,
        resourceVersion,
        value,
        readValue: valueOf,
      } as const;
      const sent = await client.send(request, (signal) => client.api.update(CONFIG_MAPS, object, signal));
      if (sent.kind === 'ok') counter.acknowledged.push(sent.object?.metadata.resourceVersion ?? '');
      if (sent.kind === 'unknown') counter.unknown++;
    }
    await pause(clock, EVERY_MS, stop);
  }
}

/** Each acknowledged increment that no restore has lost counts once, and each unknown one once or not at all. */
async function judge({ connect, namespace, untilRight, isLost }: WorkloadContext, counters: readonly Counter[]) {
  using api = connect();
  return await untilRight(async (signal) => {
    const wrong: string[] = [];
    for (const { name, acknowledged: versions, unknown } of counters) {
      const acknowledged = versions.filter((version) => !isLost(version)).length;
      try {
        const count = countOf(valueOf(await api.get(CONFIG_MAPS, { namespace, name }, signal)));
        if (count < acknowledged || count > acknowledged + unknown) {
          const most = acknowledged + unknown;
          wrong.push(`${name} is ${count} after ${acknowledged} acknowledged increments, ${most} with unknown ones`);
        }
      } catch (error) {
        if (!isReason(error, 'NotFound')) throw error;
        wrong.push(`${name} is gone`);
      }
    }
    return wrong;
  });
}

function counterObject(namespace: string, name: string, value: string, resourceVersion?: string): ConfigMap {
  const metadata = { name, namespace, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { value } };
}

function pick<T>(values: readonly T[], random: Random): T {
  return values[Math.floor(random() * values.length)] as T;
}
