import { Agent as HttpAgent } from 'node:http';
import type { AgentOptions, RequestOptions } from 'node:https';
import { KubeConfig } from '@kubernetes/client-node';
import { errorMessage } from '@gantry/base';
import { createHttpClient, type Dialled, type ExchangeReport, type ObjectClient } from '@gantry/client';
import { createHttpsAgent } from '@gantry/tls';

/** An API server with the credentials of one user. Dispose of it to close its connections. */
export interface Cluster extends Disposable {
  readonly client: ObjectClient;
  /** The namespace of the context, or that of the pod; `default` when neither names one. */
  readonly namespace: string;
}

export interface ConnectOptions {
  /** The field manager of writes, and the user agent of all requests. */
  readonly name: string;
  /** A kubeconfig file. When absent: the files of `KUBECONFIG`, then `~/.kube/config`, then the account of the pod. */
  readonly kubeconfig?: string;
  /** A context of the kubeconfig; its current one when absent. */
  readonly context?: string;
  /** Called after each exchange with the API server, for metrics. */
  readonly onExchange?: (report: ExchangeReport) => void;
}

/** Thrown for a kubeconfig that names no cluster to connect to. */
export class KubeconfigError extends Error {
  override readonly name = 'KubeconfigError';
}

/** Larger responses, and larger events of watches, are errors. */
const MAX_RESPONSE_BYTES = 512 * 1024 * 1024;

/**
 * Connects to the API server of a kubeconfig, or of the cluster in which this process is a pod. Certificates, tokens, token files, exec
 * plugins, OIDC and proxies are those that `KubeConfig` of `@kubernetes/client-node` supports; credentials that it renews are used at
 * the next request. Throws KubeconfigError for a context, cluster or file that does not exist or cannot be read.
 *
 * @example
 * ```ts
 * using cluster = connect({ name: 'backups', context: 'staging' });
 * const { items } = await cluster.client.list(PODS, { namespace: cluster.namespace }, signal);
 * ```
 */
export function connect({ name, kubeconfig, context, onExchange }: ConnectOptions): Cluster {
  const config = readConfig(kubeconfig, context);
  const cluster = config.getCurrentCluster();
  if (cluster === null) throw new KubeconfigError(`kubeconfig: no context named "${config.getCurrentContext()}"`);
  if (!/^https?:\/\//.test(cluster.server) || !URL.canParse(cluster.server)) {
    throw new KubeconfigError(`kubeconfig: the server of cluster "${cluster.name}" is no URL: ${cluster.server}`);
  }
  const { dial, close } = createDial(config, cluster);
  const client = createHttpClient({
    server: cluster.server.replace(/\/$/, ''),
    fieldManager: name,
    maxResponseBytes: MAX_RESPONSE_BYTES,
    dial,
    ...(onExchange === undefined ? {} : { onExchange }),
  });
  const namespace = config.getContextObject(config.getCurrentContext())?.namespace ?? 'default';
  const dispose = (): void => {
    client[Symbol.dispose]();
    close();
  };
  return { client, namespace, [Symbol.dispose]: dispose };
}

/** What the library falls back to when there is no kubeconfig and no account of a pod. */
const FALLBACK = { context: 'loaded-context', server: 'http://localhost:8080' };

function readConfig(file: string | undefined, context: string | undefined): KubeConfig {
  const config = new KubeConfig();
  try {
    if (file === undefined) config.loadFromDefault();
    else config.loadFromFile(file);
  } catch (error) {
    // The parser's message goes on with lines of the file, which may contain credentials; so it is no cause either.
    const [reason] = errorMessage(error).split('\n');
    throw new KubeconfigError(`kubeconfig: ${file ?? 'the default one'} cannot be read: ${reason}`);
  }
  if (
    file === undefined &&
    config.getCurrentContext() === FALLBACK.context &&
    config.getCurrentCluster()?.server === FALLBACK.server
  ) {
    throw new KubeconfigError('kubeconfig: there is no KUBECONFIG, no ~/.kube/config and no account of a pod');
  }
  if (context !== undefined) config.setCurrentContext(context);
  return config;
}

type Material = Pick<AgentOptions, 'ca' | 'cert' | 'key' | 'passphrase' | 'pfx' | 'rejectUnauthorized' | 'servername'>;

/**
 * The connections and credentials of each request. The library makes agents that close each connection after its request, so connections
 * are kept by agents of our own, one for each set of certificates, except through a proxy, whose protocol the library's agent speaks.
 */
function createDial(
  config: KubeConfig,
  { server, proxyUrl }: { readonly server: string; readonly proxyUrl?: string | undefined },
): { readonly dial: () => Promise<Dialled>; readonly close: () => void } {
  const plain = new HttpAgent({ keepAlive: true });
  let kept: { readonly agent: HttpAgent; readonly material: Material } | undefined;
  let asked: Promise<RequestOptions> | undefined;
  const ask = async (): Promise<RequestOptions> => {
    const options: RequestOptions = {};
    await config.applyToHTTPSOptions(options);
    return options;
  };
  const dial = async (): Promise<Dialled> => {
    // Requests that start together share one run of an exec plugin.
    asked ??= ask().finally(() => (asked = undefined));
    const options = await asked;
    const { auth } = options;
    const credentials = { headers: textsOf(options.headers), ...(typeof auth === 'string' ? { auth } : {}) };
    if (proxyUrl !== undefined && proxyUrl !== '') return { agent: options.agent as HttpAgent, ...credentials };
    if (server.startsWith('http:')) return { agent: plain, ...credentials };
    const material = materialOf(options);
    if (kept === undefined || !isSame(kept.material, material)) {
      kept = { agent: createHttpsAgent({ ...material, maxCachedSessions: 10 }), material };
    }
    return { agent: kept.agent, ...credentials };
  };
  const close = (): void => {
    plain.destroy();
    kept?.agent.destroy();
  };
  return { dial, close };
}

function materialOf({ ca, cert, key, passphrase, pfx, rejectUnauthorized, servername }: RequestOptions): Material {
  return { ca, cert, key, passphrase, pfx, rejectUnauthorized, servername };
}

function isSame(left: Material, right: Material): boolean {
  return (Object.keys(left) as (keyof Material)[]).every((name) => String(left[name]) === String(right[name]));
}

function textsOf(headers: RequestOptions['headers']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers ?? {}).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  );
}
