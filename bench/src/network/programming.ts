import { type Pod, PODS, type Service, SERVICES } from '@gantry/objects';
import { deadline, inNamespace, type MeasuredCluster } from '../cluster.ts';
import { describeMs, quantile } from '../statistics.ts';
import { isReady, nodeImage, runIn, serverPod, startReady } from './node-pods.ts';

/** Pods that start at the same time; the client in the cluster tries the Services of all. */
const AT_ONCE = 4;
const WAIT_MS = 120_000;

/**
 * From the event that says that a pod is ready to the first connection through its Service, for which it is the only endpoint. The event
 * comes to this program through a watch, as to the controllers; the clock is that of one machine.
 */
export async function measureProgramming(cluster: MeasuredCluster, pods: number): Promise<string[]> {
  const latencies: number[] = [];
  await inNamespace(cluster.api, `bench-programming-${process.pid}`, async (namespace) => {
    const image = nodeImage(cluster);
    const client = await startReady(cluster, serverPod(namespace, 'client', image));
    for (let first = 0; first < pods; first += AT_ONCE) {
      const names = Array.from({ length: Math.min(AT_ONCE, pods - first) }, (_, n) => `server-${first + n}`);
      latencies.push(
        ...(await measureGroup(
          cluster,
          client,
          names.map((name) => serverPod(namespace, name, image)),
        )),
      );
    }
  });
  const p99 = quantile(latencies, 0.99).toFixed(0);
  return [`A pod is ready until it is reached through its Service: ${describeMs(latencies)}, p99 ${p99} ms.`];
}

async function measureGroup({ api }: MeasuredCluster, client: Pod, pods: readonly Pod[]): Promise<readonly number[]> {
  const { namespace = '' } = client.metadata;
  const addresses = new Map<string, string>();
  for (const { metadata } of pods) {
    const created = await api.create(SERVICES, serviceOf(namespace, metadata.name ?? ''), deadline());
    addresses.set(metadata.name ?? '', created.spec?.clusterIP ?? '');
  }
  const stop = new AbortController();
  const watching = readyTimes(api, namespace, new Set(addresses.keys()), stop.signal);
  try {
    const reached = new Map<string, number>();
    for await (const line of runIn(client, 'first-answer.ts', [...addresses.values()])) {
      if (line === 'started') {
        await Promise.all(pods.map((pod) => api.create(PODS, pod, deadline())));
        continue;
      }
      const [address = '', at = ''] = line.split(' ');
      reached.set(address, Number(at));
    }
    const ready = await watching;
    return [...addresses].map(([name, address]) => (reached.get(address) ?? Number.NaN) - (ready.get(name) ?? 0));
  } finally {
    stop.abort();
    await Promise.allSettled([watching]);
    await Promise.all(pods.map(({ metadata: { name = '' } }) => api.delete(PODS, { namespace, name }, {}, deadline())));
  }
}

/** When the event came that said that each pod was ready, Unix milliseconds. */
async function readyTimes(
  api: MeasuredCluster['api'],
  namespace: string,
  names: ReadonlySet<string>,
  stop: AbortSignal,
): Promise<ReadonlyMap<string, number>> {
  const times = new Map<string, number>();
  const signal = AbortSignal.any([stop, deadline(WAIT_MS)]);
  for await (const events of api.watch(PODS, { namespace, sendInitialEvents: true }, signal)) {
    const at = performance.timeOrigin + performance.now();
    for (const event of events) {
      if (event.type === 'BOOKMARK' || event.type === 'DELETED') continue;
      const name = event.object.metadata.name ?? '';
      if (names.has(name) && !times.has(name) && isReady(event.object)) times.set(name, at);
    }
    if (times.size === names.size) return times;
  }
  throw new Error('the watch of pods ended early');
}

function serviceOf(namespace: string, name: string): Service {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace, name },
    spec: { selector: { app: name }, ports: [{ port: 80, targetPort: 8080, protocol: 'TCP' }] },
  };
}
