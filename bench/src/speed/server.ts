import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type HttpTarget, readKubeconfig } from '@gantry/client';
import { type Part, partNamed, partOf, servicesOf, startMeter } from '../parts.ts';
import { docker, rssMib, serviceContainers } from '../processes.ts';

/** The measured server: its endpoints and processes. */
export interface MeasuredServer {
  readonly what: string;
  readonly target: HttpTarget;
  readonly grpcPort: number;
  /** None where there is no gRPC. */
  readonly grpcAddresses: readonly string[];
  readonly parts: { readonly apiserver: Part; readonly etcd: Part };
}

/** The cluster of a kubeconfig's folder, started by `npm run up`. */
export function clusterServer(kubeconfig: string): MeasuredServer {
  const settings = readFileSync(join(dirname(kubeconfig), 'env'), 'utf8');
  const project = /^GANTRY_CLUSTER_ID=(.*)$/m.exec(settings)?.[1] ?? '';
  const containers = serviceContainers(project);
  const parts = servicesOf(project);
  const addressOf = (id: string) => {
    const format = '{{range $name, $net := .NetworkSettings.Networks}}{{$name}}={{$net.IPAddress}} {{end}}';
    return docker('inspect', '-f', format, id)
      .split(' ')
      .find((one) => one.includes('control'))
      ?.split('=')[1];
  };
  const apiservers = containers.filter((c) => c.service === 'apiserver');
  const members = containers.filter((c) => c.service.startsWith('etcd'));
  return {
    what: `the cluster ${project}: ${apiservers.length} apiservers, etcd of ${members.length} members`,
    target: readKubeconfig(kubeconfig),
    grpcPort: 6444,
    grpcAddresses: apiservers.flatMap(({ id }) => addressOf(id) ?? []),
    parts: { apiserver: partNamed(parts, 'apiserver'), etcd: partNamed(parts, 'etcd') },
  };
}

/** Kubernetes of a folder with its `kubeconfig`, and the process ids of its servers in `run/kube-apiserver.pid` and `run/etcd.pid`. */
export function referenceServer(folder: string): MeasuredServer {
  const pidOf = (name: string) => Number(readFileSync(join(folder, 'run', `${name}.pid`), 'utf8'));
  return {
    what: 'the reference',
    target: readKubeconfig(join(folder, 'kubeconfig')),
    grpcPort: 0,
    grpcAddresses: [],
    parts: { apiserver: partOf('apiserver', [pidOf('kube-apiserver')]), etcd: partOf('etcd', [pidOf('etcd')]) },
  };
}

/** The servers' cost of a step. */
export interface Cost {
  readonly seconds: number;
  readonly apiserverMs: number;
  readonly etcdMs: number;
  /** Peak resident memory of the largest apiserver during the step. */
  readonly peakMib: number;
}

const SAMPLE_MS = 50;

/** Runs a step and returns its cost. Fails if a server started again meanwhile, because what its process has used is lost. */
export async function costOf(server: MeasuredServer, step: () => Promise<void>): Promise<Cost> {
  const { apiserver, etcd } = server.parts;
  let peakMib = 0;
  const sample = () => (peakMib = Math.max(peakMib, ...apiserver.mainPids.map(rssMib)));
  const timer = setInterval(sample, SAMPLE_MS);
  const used = startMeter([apiserver, etcd]);
  const startedAt = performance.now();
  try {
    await step();
  } finally {
    clearInterval(timer);
  }
  sample();
  const seconds = (performance.now() - startedAt) / 1000;
  const uses = used();
  const restarted = uses.find(({ hasRestarted }) => hasRestarted);
  if (restarted !== undefined) throw new Error(`${restarted.name} started again during the step`);
  const [apiserverMs = 0, etcdMs = 0] = uses.map(({ cpuMs }) => cpuMs);
  return { seconds, apiserverMs, etcdMs, peakMib };
}
