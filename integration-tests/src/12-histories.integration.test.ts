import { type ConfigMap, type KubeObject, StatusError } from '@gantry/objects';
import { seededRandom } from '@gantry/base';
import { checkLinearizable, type Operation } from '@gantry/chaos-checker';
import { testSeed } from '@gantry/base/testing';
import type { HttpClient } from '@gantry/client';
import { expect, test } from 'vitest';
import { Cluster } from './harness/cluster.ts';
import { eventually } from './harness/eventually.ts';
import { configMap, connectClients, pathOf } from './harness/many-clients.ts';

const cluster = new Cluster();
const clients = connectClients(cluster, 'histories');
const signal = () => AbortSignal.timeout(60_000);

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
  const seed = testSeed('histories', 1000);
  const outcomes = { ok: 0, refused: 0, unknown: 0 };
  let left = OPERATIONS;
  const work = clients.map(async (client, index) => {
    const random = seededRandom(seed + index);
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
