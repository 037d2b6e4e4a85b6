import type { ConfigMap } from '@gantry/api';
import { CONFIG_MAPS, deadline, inNamespace, type MeasuredCluster } from './cluster.ts';
import { servicesCpuMs, serviceContainers } from './processes.ts';

const CLIENTS = 64;
const OBJECTS = 2_000;

/** Processor time of apiservers and etcd for one ConfigMap's create, get and update, with 64 clients at once. */
export async function measureObjects(cluster: MeasuredCluster): Promise<string[]> {
  const lines: string[] = [];
  await inNamespace(cluster.api, 'bench-objects', async (namespace) => {
    const stored = new Map<string, ConfigMap>();
    const steps: [string, (name: string) => Promise<void>][] = [
      ['create', async (name) => void stored.set(name, await create(cluster, namespace, name))],
      ['get', async (name) => void (await cluster.api.get(CONFIG_MAPS, { namespace, name }, deadline()))],
      ['update', (name) => update(cluster, namespace, name, stored)],
    ];
    for (const [verb, step] of steps) {
      const containers = serviceContainers(cluster.project);
      const before = { api: servicesCpuMs(containers, ['apiserver']), etcd: servicesCpuMs(containers, ['etcd']) };
      const startedAt = performance.now();
      await spread(
        Array.from({ length: OBJECTS }, (_, i) => `object-${i}`),
        step,
      );
      const seconds = (performance.now() - startedAt) / 1000;
      const api = (servicesCpuMs(containers, ['apiserver']) - before.api) / OBJECTS;
      const etcd = (servicesCpuMs(containers, ['etcd']) - before.etcd) / OBJECTS;
      lines.push(
        `| ${verb} | ${api.toFixed(2)} ms | ${etcd.toFixed(2)} ms | ${(api + etcd).toFixed(2)} ms | ${(OBJECTS / seconds).toFixed(0)}/s |`,
      );
    }
  });
  return ['| ConfigMap | apiservers | etcd | together | rate |', '| --- | --- | --- | --- | --- |', ...lines];
}

function create(cluster: MeasuredCluster, namespace: string, name: string): Promise<ConfigMap> {
  const object: ConfigMap = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name },
    data: { text: 'x'.repeat(500) },
  };
  return cluster.api.write<ConfigMap>({ verb: 'create', resource: CONFIG_MAPS, namespace, object }, deadline());
}

async function update(
  cluster: MeasuredCluster,
  namespace: string,
  name: string,
  stored: ReadonlyMap<string, ConfigMap>,
): Promise<void> {
  const current = stored.get(name);
  if (current === undefined) return;
  const object: ConfigMap = { ...current, data: { text: 'y'.repeat(500) } };
  await cluster.api.write({ verb: 'update', resource: CONFIG_MAPS, key: { namespace, name }, object }, deadline());
}

async function spread(names: readonly string[], step: (name: string) => Promise<void>): Promise<void> {
  let next = 0;
  const client = async () => {
    for (let name = names[next++]; name !== undefined; name = names[next++]) await step(name);
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
}
