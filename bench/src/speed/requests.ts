import { CONFIG_MAPS, type ConfigMap } from '@gantry/objects';
import type { Collection, Endpoint } from './endpoint.ts';
import type { Row } from './report.ts';
import { costOf, type MeasuredServer } from './server.ts';

const CLIENTS = 64;
const OBJECTS = 2_000;
const VERBS = ['create', 'get', 'update', 'patch', 'delete'] as const;

export type RequestVerb = (typeof VERBS)[number];

export function isRequestVerb(name: string): name is RequestVerb {
  return VERBS.some((verb) => verb === name);
}

/** Creates, reads, replaces (PUT without a version), patches and deletes 2,000 ConfigMaps of 2 KB with 64 concurrent clients. */
export async function* measureRequests(
  server: MeasuredServer,
  { name, endpoint }: { readonly name: string; readonly endpoint: Endpoint },
  { namespace, round }: { readonly namespace: string; readonly round: number },
  wanted: ReadonlySet<RequestVerb>,
): AsyncGenerator<Row> {
  const collection: Collection = { resource: CONFIG_MAPS, namespace };
  const prefix = `${name.toLowerCase().replace(' ', '-')}-${round}`;
  const names = Array.from({ length: OBJECTS }, (_, index) => `${prefix}-${index}`);
  const steps: Record<RequestVerb, (object: string) => Promise<void>> = {
    create: (object) => endpoint.create(collection, configMap(object, 'x')),
    get: (object) => endpoint.get(collection, object),
    update: (object) => endpoint.update(collection, configMap(object, 'y')),
    patch: (object) => endpoint.patch(collection, object, { data: { number: '1' } }),
    delete: (object) => endpoint.delete(collection, object),
  };
  for (const verb of VERBS) {
    // Steps that are not measured still prepare the objects of those that are.
    if (!wanted.has(verb) && verb !== 'create') continue;
    const lagsMs: number[] = [];
    const cost = await costOf(server, () => spread(names, CLIENTS, steps[verb], lagsMs));
    if (wanted.has(verb)) yield { what: verb, endpoint: name, count: OBJECTS, lagsMs, cost };
  }
}

/** Calls `step` for every name, `clients` at a time, and records durations. Starts none after `enoughMs`. */
export async function spread(
  names: readonly string[],
  clients: number,
  step: (name: string) => Promise<void>,
  lagsMs: number[] = [],
  enoughMs = Number.POSITIVE_INFINITY,
): Promise<void> {
  let next = 0;
  const beganAt = performance.now();
  const client = async () => {
    for (let name = names[next++]; name !== undefined; name = names[next++]) {
      if (performance.now() - beganAt > enoughMs) return;
      const startedAt = performance.now();
      await step(name);
      lagsMs.push(performance.now() - startedAt);
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
}

export function configMap(name: string, filling: string, number = 0): ConfigMap {
  const data = { text: filling.repeat(2000), number: String(number) };
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data };
}
