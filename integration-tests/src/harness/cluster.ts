import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  CONFIG_MAPS,
  type Deployment,
  DEPLOYMENTS,
  type KubeObject,
  NAMESPACES,
  type Node,
  NODES,
  type Pod,
  PODS,
  type Resource,
  SERVICE_ACCOUNTS,
} from '@gantry/objects';
import { createHttpClient, type HttpClient, readKubeconfig } from '@gantry/client';
import { inject } from 'vitest';
import { eventually } from './eventually.ts';
import { type KubectlVersion, kubectlVersions } from './kubectl-versions.ts';
import { type Result, type Running, type RunOptions, runProgram, startProgram } from './process.ts';

const REQUEST_MS = 30_000;
const NAMESPACE_MS = 120_000;
const UP_MS = 300_000;

/** A container of the cluster's services. */
export interface Container {
  readonly id: string;
  readonly name: string;
  readonly service: string;
  readonly state: string;
}

/** The running cluster as a test meets it: its API, its kubectl, its engine. */
export class Cluster {
  readonly root = inject('root');
  readonly home = inject('home');
  readonly kubeconfig = join(this.home, 'kubeconfig');
  readonly clusterId: string;
  readonly kubectls: readonly KubectlVersion[];
  readonly newest: KubectlVersion;
  readonly api: HttpClient;
  #names = 0;

  constructor() {
    const settings = readFileSync(join(this.home, 'env'), 'utf8');
    this.clusterId = /^GANTRY_CLUSTER_ID=(.*)$/m.exec(settings)?.[1] ?? '';
    this.kubectls = kubectlVersions(this.root);
    const newest = this.kubectls.at(-1);
    if (newest === undefined) throw new Error('no kubectl');
    this.newest = newest;
    this.api = createHttpClient({ ...readKubeconfig(this.kubeconfig), fieldManager: 'integration-tests' });
  }

  /** Runs kubectl to its end, whatever its exit code. */
  kubectl(args: readonly string[], options: RunOptions & { readonly version?: KubectlVersion } = {}): Promise<Result> {
    const env = { KUBECONFIG: this.kubeconfig, ...options.env };
    return runProgram((options.version ?? this.newest).program, args, { ...options, env });
  }

  /** The output of a kubectl that must succeed. */
  async mustKubectl(
    args: readonly string[],
    options: RunOptions & { readonly version?: KubectlVersion } = {},
  ): Promise<string> {
    const { code, stdout, stderr } = await this.kubectl(args, options);
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')} ended with ${code}: ${stderr}${stdout}`);
    return stdout;
  }

  startKubectl(
    args: readonly string[],
    version: KubectlVersion = this.newest,
    env: Readonly<Record<string, string>> = {},
  ): Running {
    return startProgram(version.program, args, { ...env, KUBECONFIG: this.kubeconfig });
  }

  /** The output of a docker that must succeed. */
  async docker(args: readonly string[], timeoutMs = 180_000): Promise<string> {
    const { code, stdout, stderr } = await runProgram('docker', args, { timeoutMs });
    if (code !== 0) throw new Error(`docker ${args.join(' ')} ended with ${code}: ${stderr}`);
    return stdout.trim();
  }

  /** `settings` are in force for the containers that it makes. */
  compose(
    args: readonly string[],
    timeoutMs = 300_000,
    settings: Readonly<Record<string, string>> = {},
  ): Promise<string> {
    const files = ['-f', join(this.root, 'docker-compose.yml'), '--env-file', join(this.home, 'env')];
    const command = ['compose', ...files, '-p', this.clusterId, '--progress', 'quiet', ...args];
    return runProgram('docker', command, { env: { ...settings, GANTRY_HOME: this.home }, timeoutMs }).then((result) => {
      if (result.code !== 0) throw new Error(`docker compose ${args.join(' ')}: ${result.stderr}`);
      return result.stdout;
    });
  }

  /** Starts it again with other settings: containers that these concern are replaced. */
  async up(settings: Readonly<Record<string, string>>): Promise<void> {
    const { code, stdout, stderr } = await runProgram(join(this.root, 'deploy/bin/up'), [], {
      env: { GANTRY_HOME: this.home, ...settings },
      timeoutMs: UP_MS,
    });
    if (code !== 0) throw new Error(`up ended with ${code}: ${stderr}${stdout}`);
  }

  /** Containers of the services, in the order of their numbers. */
  async containers(service?: string): Promise<readonly Container[]> {
    const label = 'com.docker.compose';
    const text = await this.docker([
      'ps',
      '-a',
      '--no-trunc',
      '--filter',
      `label=${label}.project=${this.clusterId}`,
      '--format',
      `{{.ID}}\t{{.Names}}\t{{.Label "${label}.service"}}\t{{.State}}`,
    ]);
    return text
      .split('\n')
      .map((line) => line.split('\t'))
      .map(([id = '', name = '', of = '', state = '']) => ({ id, name, service: of, state }))
      .filter((container) => service === undefined || container.service === service)
      .toSorted((one, other) => one.name.localeCompare(other.name, 'en', { numeric: true }));
  }

  /** The container of the agent that runs a node. */
  async agentOf(node: string): Promise<Container> {
    const number = node.slice(node.lastIndexOf('-') + 1);
    const agent = (await this.containers('agent')).find(({ name }) => name.endsWith(`-${number}`));
    if (agent === undefined) throw new Error(`no agent for ${node}`);
    return agent;
  }

  /** The image of the cluster's own services, which has Node.js. */
  async serviceImage(): Promise<string> {
    const [proxy] = await this.containers('proxy');
    return await this.docker(['inspect', '-f', '{{.Config.Image}}', proxy?.id ?? '']);
  }

  /** Ids of the engine's containers of pods of this cluster, running ones unless told otherwise. */
  async podContainers(
    filters: readonly string[] = [],
    which: 'running' | 'all' = 'running',
  ): Promise<readonly string[]> {
    const all = [`label=gantry.cluster=${this.clusterId}`, ...filters].flatMap((filter) => ['--filter', filter]);
    const text = await this.docker(['ps', '-q', '--no-trunc', ...(which === 'all' ? ['-a'] : []), ...all]);
    return text.split('\n').filter((id) => id !== '');
  }

  /** A namespace of its own for one test, with all that every namespace is given; removed when disposed of. */
  async namespace(): Promise<AsyncDisposable & { readonly name: string }> {
    this.#names++;
    const name = `t${process.pid}-${this.#names}-${Math.floor(performance.now())}`;
    await this.create(NAMESPACES, '', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    await eventually(`namespace ${name} has its service account and root CA`, NAMESPACE_MS, async () => {
      await this.get(SERVICE_ACCOUNTS, name, 'default');
      await this.get(CONFIG_MAPS, name, 'kube-root-ca.crt');
      return true;
    });
    return {
      name,
      [Symbol.asyncDispose]: async () => {
        await this.kubectl(['delete', 'namespace', name, '--wait=false']);
      },
    };
  }

  create<T extends KubeObject>(resource: Resource<T>, namespace: string, object: NoInfer<T>): Promise<T> {
    const placed = namespace === '' ? object : { ...object, metadata: { ...object.metadata, namespace } };
    return this.api.create(resource, placed, AbortSignal.timeout(REQUEST_MS));
  }

  get<T extends KubeObject>(resource: Resource<T>, namespace: string, name: string): Promise<T> {
    return this.api.get(resource, { namespace, name }, AbortSignal.timeout(REQUEST_MS));
  }

  async list<T extends KubeObject>(resource: Resource<T>, namespace = '', labelSelector = ''): Promise<readonly T[]> {
    const options = { namespace, labelSelector };
    return (await this.api.list(resource, options, AbortSignal.timeout(REQUEST_MS))).items;
  }

  nodes(): Promise<readonly Node[]> {
    return this.list(NODES);
  }

  pods(namespace: string, labelSelector = ''): Promise<readonly Pod[]> {
    return this.list(PODS, namespace, labelSelector);
  }

  /** Waits until all replicas of the Deployment's current generation are available and no other is left. */
  async untilRolledOut(namespace: string, name: string, timeoutMs = 180_000): Promise<Deployment> {
    return await eventually(`${name} is rolled out`, timeoutMs, async () => {
      const found = await this.get(DEPLOYMENTS, namespace, name);
      const wanted = found.spec?.replicas ?? 1;
      const status = found.status ?? {};
      const done =
        (status.observedGeneration ?? 0) >= (found.metadata.generation ?? 0) &&
        (status.updatedReplicas ?? 0) === wanted &&
        (status.availableReplicas ?? 0) === wanted &&
        (status.replicas ?? 0) === wanted;
      return done ? found : undefined;
    });
  }

  async untilNodesReady(count: number, timeoutMs = 180_000): Promise<readonly Node[]> {
    return await eventually(`${count} nodes are Ready`, timeoutMs, async () => {
      const nodes = await this.nodes();
      return nodes.length === count && nodes.every(isReady) ? nodes : undefined;
    });
  }
}

export function isReady(object: Node | Pod): boolean {
  return (object.status?.conditions ?? []).some(({ type, status }) => type === 'Ready' && status === 'True');
}

/** Tolerations of pods that stay on a node whose agent is away for longer than its Lease, as when it starts again on a busy machine. */
export const STAYING = ['not-ready', 'unreachable'].map((taint) => ({
  key: `node.kubernetes.io/${taint}`,
  operator: 'Exists' as const,
  effect: 'NoExecute' as const,
}));

/** A Deployment of nginx, as small as it can be. */
export function nginxDeployment(name: string, replicas: number, change: Partial<Deployment['spec']> = {}): Deployment {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, labels: { app: name } },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: { containers: [{ name: 'nginx', image: 'nginx:1.7.9', ports: [{ containerPort: 80 }] }] },
      },
      ...change,
    },
  };
}

/** The HTTP status code that an address answers with. */
export async function httpStatus(url: string): Promise<number> {
  const response = await fetch(url, { signal: AbortSignal.timeout(3_000) });
  await response.body?.cancel();
  return response.status;
}
