import { pause } from '@gantry/base';
import { RESOURCE_QUOTAS, type ResourceQuota, type Secret, SECRETS } from '@gantry/objects';
import { RecordedClient } from './recorded-client.ts';
import type { RunningWorkload, Workload, WorkloadContext } from './workload.ts';

const NAME = 'secrets';
const HARD = 5;
const CLIENTS = 3;
const EVERY_MS = 200;
const OWN = 'gantry.chaos/quota';

/** More creations than a quota allows. */
export const QUOTA_WORKLOAD: Workload = {
  name: 'quotas',
  restores: 'known',
  what: 'Three clients create and delete Secrets under a quota of five; there are never more, and the quota counts what is there.',
  start: startQuotas,
};

async function startQuotas(context: WorkloadContext, stop: AbortSignal): Promise<RunningWorkload> {
  const { namespace, connect, untilRight } = context;
  using setup = connect();
  await context.create(RESOURCE_QUOTAS, quota(namespace));
  const wrong = await untilRight(async (signal) => {
    const { status } = await setup.get(RESOURCE_QUOTAS, { namespace, name: NAME }, signal);
    return status?.hard?.['count/secrets'] === undefined ? ['the quota is not counted'] : [];
  });
  const clients = Array.from({ length: CLIENTS }, (_, index) => new RecordedClient(context, `quotas-${index}`));
  const working = clients.map((client) => work(context, client, stop));
  return {
    finish: async () => {
      await Promise.all(working);
      return [...wrong, ...(await empty(context))];
    },
  };
}

async function work({ clock, namespace, random }: WorkloadContext, client: RecordedClient, stop: AbortSignal) {
  const { api, name: own } = client;
  const present: string[] = [];
  for (let number = 0; !stop.aborted; number++) {
    const victim = random() < 0.4 ? present.shift() : undefined;
    const key = { namespace, name: victim ?? `${own}-${number}` };
    if (victim === undefined) {
      const object: Secret = { apiVersion: 'v1', kind: 'Secret', metadata: { ...key, labels: { [OWN]: own } } };
      const sent = await client.send({ verb: 'create', resource: SECRETS, key }, (signal) =>
        api.create(SECRETS, object, signal),
      );
      if (sent.kind !== 'fail') present.push(key.name);
    } else
      await client.send({ verb: 'delete', resource: SECRETS, key }, (signal) => api.delete(SECRETS, key, {}, signal));
    await pause(clock, EVERY_MS, stop);
  }
}

/** Deletes what is left. More than the quota allows is wrong; during the run, the checker looks (I19). */
async function empty({ namespace, connect, untilRight }: WorkloadContext): Promise<readonly string[]> {
  using api = connect();
  const wrong: string[] = [];
  const left = await untilRight(async (signal) => {
    const { items } = await api.list(SECRETS, { namespace, labelSelector: OWN }, signal);
    if (items.length > HARD) wrong.push(`${items.length} Secrets under a quota of ${HARD}`);
    for (const { metadata } of items) await api.delete(SECRETS, { namespace, name: metadata.name ?? '' }, {}, signal);
    return items.map(({ metadata }) => `${metadata.name} is there after its deletion`);
  });
  return [...wrong, ...left];
}

function quota(namespace: string): ResourceQuota {
  return {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: { name: NAME, namespace },
    spec: { hard: { 'count/secrets': String(HARD) } },
  };
}
