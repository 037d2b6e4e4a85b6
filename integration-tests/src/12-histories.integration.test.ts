import { type ConfigMap, isReason, type KubeObject, StatusError } from '@gantry/api';
import { must, seededRandom } from '@gantry/base';
import { createHttpClient, type HttpClient, readKubeconfig } from '@gantry/client';
import { afterAll, expect, test } from 'vitest';
import { Cluster, CONFIG_MAPS } from './harness/cluster.ts';
import { eventually } from './harness/eventually.ts';
import { checkLinearizable, type Operation } from './harness/linearizability.ts';

const cluster = new Cluster();
const CLIENTS = 64;
const signal = () => AbortSignal.timeout(60_000);

/** Clients with connections of their own, so that the load balancer spreads them over the apiservers. */
const clients: readonly HttpClient[] = Array.from({ length: CLIENTS }, () =>
  createHttpClient({ ...readKubeconfig(cluster.kubeconfig), fieldManager: 'histories' }),
);
afterAll(() => {
  for (const client of clients) client[Symbol.dispose]();
});

const pathOf = (namespace: string, name = '') =>
  `/api/v1/namespaces/${namespace}/configmaps${name === '' ? '' : `/${name}`}`;
const configMap = (
  name: string,
  data: Readonly<Record<string, string>>,
  resourceVersion?: string,
): ConfigMap & KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...(resourceVersion === undefined ? {} : { resourceVersion }) },
  data,
});

const INCREMENTS = 1_000;
/** Losers stand back for a random time that doubles each time, so that whoever is ahead goes on undisturbed for a while. */
const MIN_BACKOFF_MS = 512;
const MAX_BACKOFF_MS = 16_384;

test('64 clients count to 64,000 in one object, each with optimistic retry: the count is exact', {
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
  const count = async (client: HttpClient, index: number): Promise<void> => {
    const random = seededRandom(index + 1);
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
        await new Promise((resolve) => setTimeout(resolve, random() * backoffMs));
        backoffMs = Math.min(backoffMs * 2, MAX_BACKOFF_MS);
        current = await read();
      }
    }
  };
  await Promise.all(clients.map(count));
  const end = await cluster.get<ConfigMap>(CONFIG_MAPS, namespace.name, 'counter');
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

const OPERATIONS = 10_000;
const OBJECTS = 100;

/** Does one random thing to one object, as its client believes it to be, and writes down what it was told. */
async function operate(
  client: HttpClient,
  namespace: string,
  object: SharedObject,
  random: () => number,
  value: string,
): Promise<Operation['outcome']['kind']> {
  const { name, versions, history } = object;
  const known = [...versions.keys()];
  const expected = known.at(-1 - Math.floor(random() ** 3 * Math.min(3, known.length))) ?? '';
  const dice = random();
  const request: Operation['request'] =
    dice < 0.4
      ? { kind: 'read' }
      : dice < 0.55
        ? { kind: 'create', value }
        : dice < 0.9
          ? { kind: 'update', expected, value }
          : { kind: 'delete', expected };
  const version = versions.get(expected);
  const json = 'application/json';
  const write =
    request.kind === 'read'
      ? ({ method: 'GET', path: pathOf(namespace, name) } as const)
      : request.kind === 'create'
        ? ({
            method: 'POST',
            path: pathOf(namespace),
            contentType: json,
            body: JSON.stringify(configMap(name, { value })),
          } as const)
        : request.kind === 'update'
          ? ({
              method: 'PUT',
              path: pathOf(namespace, name),
              contentType: json,
              body: JSON.stringify(configMap(name, { value }, version)),
            } as const)
          : ({
              method: 'DELETE',
              path: pathOf(namespace, name),
              contentType: json,
              body: JSON.stringify({
                kind: 'DeleteOptions',
                apiVersion: 'v1',
                preconditions: { resourceVersion: version },
              }),
            } as const);
  if (request.kind !== 'read' && request.kind !== 'create' && version === undefined) return 'refused';
  const calledAt = performance.now();
  const outcome = await client.raw(write, signal()).then(
    (text): Operation['outcome'] => {
      const answer = JSON.parse(text) as ConfigMap & KubeObject;
      const seen = answer.kind === 'ConfigMap' ? answer.data?.['value'] : undefined;
      if (seen !== undefined) versions.set(seen, answer.metadata.resourceVersion ?? '');
      return request.kind === 'read' ? { kind: 'ok', value: seen } : { kind: 'ok' };
    },
    (error: unknown): Operation['outcome'] => {
      const code = error instanceof StatusError ? error.code : 0;
      if (request.kind === 'read' && code === 404) return { kind: 'ok', value: undefined };
      return code === 404 || code === 409 ? { kind: 'refused' } : { kind: 'unknown' };
    },
  );
  const returnedAt = outcome.kind === 'unknown' ? undefined : performance.now();
  history.push({ client: clients.indexOf(client), calledAt, returnedAt, request, outcome });
  return outcome.kind;
}

interface SharedObject {
  readonly name: string;
  /** resourceVersions by the values that were written with them, oldest first. */
  readonly versions: Map<string, string>;
  readonly history: Operation[];
}

test('10,000 concurrent operations while an apiserver is killed: every object is linearizable', async () => {
  await using namespace = await cluster.namespace();
  const objects: readonly SharedObject[] = Array.from({ length: OBJECTS }, (_, index) => ({
    name: `o${index}`,
    versions: new Map(),
    history: [],
  }));
  const outcomes = { ok: 0, refused: 0, unknown: 0 };
  let left = OPERATIONS;
  const work = clients.map(async (client, index) => {
    const random = seededRandom(1000 + index);
    while (left > 0) {
      const object = objects[Math.floor(random() * OBJECTS)];
      if (object === undefined) throw new Error('no object');
      const value = `v${left--}`;
      outcomes[await operate(client, namespace.name, object, random, value)]++;
    }
  });
  await eventually('a third of the work is done', 180_000, () => left < (OPERATIONS * 2) / 3);
  const [victim] = await cluster.containers('apiserver');
  await cluster.docker(['kill', victim?.id ?? '']);
  await eventually('two thirds of the work are done', 180_000, () => left < OPERATIONS / 3);
  await cluster.docker(['start', victim?.id ?? '']);
  await Promise.all(work);
  for (const { name, history } of objects) {
    const reads = history.filter(({ request, outcome }) => request.kind !== 'read' || outcome.kind === 'ok');
    expect(checkLinearizable(reads), name).toEqual({ linearizable: true });
  }
  expect(outcomes.ok).toBeGreaterThan(OPERATIONS / 4);
  expect(outcomes.unknown).toBeLessThan(OPERATIONS / 10);
});
