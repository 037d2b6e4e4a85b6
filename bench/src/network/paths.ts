import { type Service, SERVICES } from '@gantry/objects';
import { deadline, inNamespace, type MeasuredCluster } from '../cluster.ts';
import { quantile } from '../statistics.ts';
import { nodeImage, runIn, serverPod, startReady } from './node-pods.ts';

const ROUND_MS = 2000;
const ROUNDS = 5;

interface Measured {
  readonly target: string;
  readonly requests: number;
  readonly connections: number;
  readonly bytes: number;
}

/** A ClusterIP beside the address of its only pod: the same client and server, in turns; medians. */
export async function measurePaths(cluster: MeasuredCluster): Promise<string[]> {
  const measured: Measured[] = [];
  let [address, clusterIP]: (string | undefined)[] = [];
  await inNamespace(cluster.api, `bench-paths-${process.pid}`, async (namespace) => {
    const image = nodeImage(cluster);
    const server = await startReady(cluster, serverPod(namespace, 'server', image));
    const client = await startReady(cluster, serverPod(namespace, 'client', image));
    const created = await cluster.api.create(SERVICES, pathService(namespace), deadline());
    address = server.status?.podIP ?? '';
    clusterIP = created.spec?.clusterIP ?? '';
    for await (const line of runIn(client, 'first-answer.ts', [clusterIP])) if (line.startsWith(clusterIP)) break;
    for await (const line of runIn(client, 'path-client.ts', [String(ROUND_MS), String(ROUNDS), address, clusterIP])) {
      measured.push(JSON.parse(line) as Measured);
    }
  });
  const median = (target: string | undefined, what: 'requests' | 'connections' | 'bytes') =>
    quantile(
      measured.filter((one) => one.target === target).map((one) => one[what]),
      0.5,
    );
  const line = (name: string, what: 'requests' | 'connections' | 'bytes', unit: number) => {
    const [direct, service] = [median(address, what) / unit, median(clusterIP, what) / unit];
    return `| ${name} | ${direct.toFixed(0)} | ${service.toFixed(0)} | ${(service / direct).toFixed(2)} |`;
  };
  return [
    '| pod to pod | direct | ClusterIP | ratio |',
    '| --- | --- | --- | --- |',
    line('requests/s, connections kept', 'requests', 1),
    line('requests/s, one connection each', 'connections', 1),
    line('MB/s over one connection', 'bytes', 1e6),
  ];
}

function pathService(namespace: string): Service {
  const ports = [
    { name: 'ready', port: 80, targetPort: 8080 },
    { name: 'http', port: 8080 },
    { name: 'bytes', port: 9090 },
  ];
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace, name: 'server' },
    spec: { selector: { app: 'server' }, ports: ports.map((port) => ({ ...port, protocol: 'TCP' })) },
  };
}
