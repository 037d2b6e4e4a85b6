import type { ConfigMap } from '@gantry/api';
import { CONFIG_MAPS } from '../cluster.ts';
import type { Collection, Door } from './door.ts';
import type { Row } from './report.ts';
import { costOf, type MeasuredServer } from './server.ts';

const CLIENTS = 64;
const OBJECTS = 2_000;
const VERBS = ['create', 'get', 'update'] as const;

export type RequestVerb = (typeof VERBS)[number];

export function isRequestVerb(name: string): name is RequestVerb {
  return VERBS.some((verb) => verb === name);
}

/** 2,000 ConfigMaps of 2 KB made, read and replaced (PUT without a version), by 64 clients at once. */
export async function* measureRequests(
  server: MeasuredServer,
  door: Door,
  { namespace, round }: { readonly namespace: string; readonly round: number },
  wanted: ReadonlySet<RequestVerb>,
): AsyncGenerator<Row> {
  const collection: Collection = { resource: CONFIG_MAPS, namespace };
  const prefix = `${door.name.toLowerCase().replace(' ', '-')}-${round}`;
  const names = Array.from({ length: OBJECTS }, (_, index) => `${prefix}-${index}`);
  const steps: Record<RequestVerb, (name: string) => Promise<void>> = {
    create: (name) => door.create(collection, configMap(name, 'x')),
    get: (name) => door.get(collection, name),
    update: (name) => door.update(collection, configMap(name, 'y')),
  };
  for (const verb of VERBS) {
    // What is not measured still has to be there for what is.
    if (!wanted.has(verb) && verb !== 'create') continue;
    const lagsMs: number[] = [];
    const cost = await costOf(server, () => spread(names, CLIENTS, steps[verb], lagsMs));
    if (wanted.has(verb)) yield { what: verb, door: door.name, count: OBJECTS, lagsMs, cost };
  }
}

/** Calls `step` for every name, with so many at once, and notes how long each took. After `enoughMs` it begins no more of them. */
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
