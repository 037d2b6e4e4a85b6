import { setTimeout as delay } from 'node:timers/promises';
import { type Pod, PODS } from '@gantry/objects';
import { rssMib } from '../processes.ts';
import { type Collection, type Endpoint, type EndpointKind, type ListForm, PAGE } from './endpoint.ts';
import type { Row } from './report.ts';
import { spread } from './requests.ts';
import { costOf, type MeasuredServer } from './server.ts';

const PODS_LISTED = 10_000;
const CLIENTS = 64;
/** With slow lists, fewer are enough. */
const ENOUGH_MS = 10_000;
/** After the creations, until the server's memory is that of rest. */
const SETTLE_MS = 5000;

const FORMS: Readonly<Record<ListForm, string>> = {
  whole: '',
  pages: ` in pages of ${PAGE}`,
  metadata: ', their metadata',
  table: ' as a table',
};

/** Creates the pods to list. They name an unknown scheduler, so they do not change. Returns the memory of the largest server at rest. */
export async function makePods(server: MeasuredServer, endpoint: Endpoint, namespace: string): Promise<number> {
  const names = Array.from({ length: PODS_LISTED }, (_, index) => `pod-${index}`);
  await spread(names, CLIENTS, (name) => endpoint.create({ resource: PODS, namespace }, pod(name)));
  await delay(SETTLE_MS);
  return Math.max(...server.parts.apiserver.mainPids.map(rssMib));
}

/** Lists 10,000 pods of 3.5 KB in each form: one list at a time, then 8 at once. */
export async function* measureLists(
  server: MeasuredServer,
  { name, forms }: Pick<EndpointKind, 'name' | 'forms'>,
  endpoint: Endpoint,
  { namespace, restMib }: { readonly namespace: string; readonly restMib: number },
): AsyncGenerator<Row> {
  const collection: Collection = { resource: PODS, namespace };
  for (const form of forms) {
    await endpoint.list(collection, form);
    for (const [clients, count] of [
      [1, 10],
      [8, 24],
    ] as const) {
      const lagsMs: number[] = [];
      let bytes = Number.NaN;
      const names = Array.from({ length: count }, String);
      const step = async () => void (bytes = await endpoint.list(collection, form));
      const cost = await costOf(server, () => spread(names, clients, step, lagsMs, ENOUGH_MS));
      yield {
        what: `list 10k pods${FORMS[form]}, ${clients} at once`,
        endpoint: name,
        count: lagsMs.length,
        lagsMs,
        cost,
        list: { bytes, clients, restMib },
      };
    }
  }
}

function pod(name: string): Pod {
  const container = (index: number) => ({
    name: `container-${index}`,
    image: 'registry.example/team/service-with-a-name:v1.2.3',
    command: ['/bin/service', '--listen=:8080', '--log-level=info'],
    env: Array.from({ length: 6 }, (_, at) => ({ name: `SETTING_${at}`, value: `value-${at}-of-some-length` })),
    ports: [{ containerPort: 8080 + index, protocol: 'TCP' }],
    resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { cpu: '500m', memory: '256Mi' } },
  });
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app: 'bench', tier: 'backend', release: 'stable' } },
    spec: { schedulerName: 'bench-none', containers: [container(0), container(1)] },
  };
}
