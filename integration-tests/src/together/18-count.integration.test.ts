import { CONFIG_MAPS, type ConfigMap, isReason, type KubeObject } from '@gantry/objects';
import { must, seededRandom } from '@gantry/base';
import { testSeed } from '@gantry/base/testing';
import type { HttpClient } from '@gantry/client';
import { expect, test } from 'vitest';
import { Cluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import { CLIENTS, configMap, connectClients, pathOf } from '../harness/many-clients.ts';

const cluster = new Cluster();
const clients = connectClients(cluster, 'count');
const signal = () => AbortSignal.timeout(60_000);

/** What each client adds. `npm run count` asks for 1,000; a share of them is enough to see that nothing has broken. */
const INCREMENTS = Number(process.env['GANTRY_COUNT_INCREMENTS'] ?? 50);
/**
 * Losers back off for a random, doubling time, so that the winner can continue undisturbed. The longest time depends on how many
 * clients still count: the writes of losers take a constant share, and the object does not lie idle while the last ones wait.
 */
const MIN_BACKOFF_MS = 2_048;
const MAX_BACKOFF_MS_PER_CLIENT = 512;

test(`${CLIENTS} clients count to ${CLIENTS * INCREMENTS} in one object, each with optimistic retry: the count is exact`, {
  timeout: 1_800_000,
}, async () => {
  await using namespace = await cluster.namespace();
  const path = pathOf(namespace.name, 'counter');
  await cluster.create(
    CONFIG_MAPS,
    namespace.name,
    counter(
      0,
      clients.map(() => 0),
    ),
  );
  let conflicts = 0;
  const seed = testSeed('counting clients', 1);
  const count = async (client: HttpClient, index: number): Promise<void> => {
    const random = seededRandom(seed + index);
    const parse = (text: string) => JSON.parse(text) as ConfigMap & KubeObject;
    const get = async () => parse(await client.raw({ method: 'GET', path }, signal()));
    const read = () => eventually('the counter is read', 60_000, get);
    let current = await read();
    let backoffMs = MIN_BACKOFF_MS;
    // A client's own entry says whether a write of its that got no answer was done after all.
    for (
      let counts = countsOf(current);
      must(counts[index], 'the own count') < INCREMENTS;
      counts = countsOf(current)
    ) {
      const next = counts.with(index, must(counts[index], 'the own count') + 1);
      const body = JSON.stringify(counter(Number(current.data?.['value']) + 1, next, current.metadata.resourceVersion));
      try {
        current = parse(await client.raw({ method: 'PUT', path, body, contentType: 'application/json' }, signal()));
        backoffMs = MIN_BACKOFF_MS;
      } catch (error) {
        if (isReason(error, 'Conflict')) conflicts++;
        else if (!isReason(error, 'Timeout') && !isReason(error, 'ServiceUnavailable')) throw error;
        const counting = counts.filter((own) => own < INCREMENTS).length;
        const waitMs = random() * Math.min(backoffMs, counting * MAX_BACKOFF_MS_PER_CLIENT);
        await new Promise((resolve) => setTimeout(resolve, waitMs));
        backoffMs *= 2;
        current = await read();
      }
    }
  };
  await Promise.all(clients.map(count));
  const end = await cluster.get(CONFIG_MAPS, namespace.name, 'counter');
  expect(end.data).toEqual(
    counter(
      CLIENTS * INCREMENTS,
      clients.map(() => INCREMENTS),
    ).data,
  );
  // Else nothing was proved.
  expect(conflicts).toBeGreaterThan(CLIENTS);
});

/** The sum of what all clients have added, and what each has. */
function counter(value: number, each: readonly number[], resourceVersion?: string): ConfigMap & KubeObject {
  return configMap('counter', { value: String(value), each: each.join(' ') }, resourceVersion);
}

function countsOf({ data }: ConfigMap): readonly number[] {
  return (data?.['each'] ?? '').split(' ').map(Number);
}
