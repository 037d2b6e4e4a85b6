import { systemClock } from '@gantry/base';
import { createHttpClient, type ExchangeReport, type ObjectClient } from '@gantry/client';
import { chooseContext } from './config.ts';
import { createCredentials } from './credentials.ts';

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

/** Larger responses, and larger events of watches, are errors. */
const MAX_RESPONSE_BYTES = 512 * 1024 * 1024;

/**
 * Connects to the API server of a kubeconfig, or of the cluster in which this process is a pod. Certificates, tokens and their files, which are
 * read again, are used as they are; exec plugins, OIDC and proxies are handled by `@kubernetes/client-node`, which is loaded for them alone. Throws
 * KubeconfigError, which names the field, for a kubeconfig that cannot be used.
 *
 * @example
 * ```ts
 * using cluster = connect({ name: 'backups', context: 'staging' });
 * const { items } = await cluster.client.list(PODS, { namespace: cluster.namespace }, signal);
 * ```
 */
export function connect({ name, kubeconfig, context, onExchange }: ConnectOptions): Cluster {
  const target = chooseContext(kubeconfig, context);
  const credentials = createCredentials(target, systemClock);
  const client = createHttpClient({
    server: target.server,
    fieldManager: name,
    maxResponseBytes: MAX_RESPONSE_BYTES,
    dial: () => credentials.dial(),
    onExchange: (report) => {
      if (report.code === 401) credentials.refused();
      onExchange?.(report);
    },
  });
  const dispose = (): void => {
    client[Symbol.dispose]();
    credentials[Symbol.dispose]();
  };
  return { client, namespace: target.namespace ?? 'default', [Symbol.dispose]: dispose };
}
