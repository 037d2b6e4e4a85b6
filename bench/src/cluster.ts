import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  type KubeObject,
  type Namespace,
  NAMESPACES,
  type ObjectKey,
  type Resource,
  SERVICE_ACCOUNTS,
} from '@gantry/objects';
import { createHttpClient, type HttpClient, readKubeconfig } from '@gantry/client';

/** The cluster under measurement: the one that a kubeconfig's folder belongs to. */
export interface MeasuredCluster {
  readonly project: string;
  /** The file, for programs that need it. */
  readonly kubeconfig: string;
  readonly api: HttpClient;
}

export function openCluster(kubeconfig: string): MeasuredCluster {
  const file = join(dirname(kubeconfig), 'env');
  if (!existsSync(file)) throw new Error(`there is no cluster: ${file} is missing. Start one: npm run up`);
  const settings = readFileSync(file, 'utf8');
  const project = /^GANTRY_CLUSTER_ID=(.*)$/m.exec(settings)?.[1] ?? '';
  return { project, kubeconfig, api: createHttpClient({ ...readKubeconfig(kubeconfig), fieldManager: 'bench' }) };
}

/** Runs `work` in a namespace of its own and removes it. */
export async function inNamespace<T>(
  api: HttpClient,
  name: string,
  work: (namespace: string) => Promise<T>,
): Promise<T> {
  const object: Namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
  await api.create(NAMESPACES, object, deadline());
  try {
    await untilObject(api, SERVICE_ACCOUNTS, name, 10_000, (account) => account.metadata.name === 'default');
    return await work(name);
  } finally {
    await api.delete(NAMESPACES, { namespace: '', name }, {}, deadline());
  }
}

export function deadline(ms = 30_000): AbortSignal {
  return AbortSignal.timeout(ms);
}

/** Watches until an object of the namespace satisfies `wanted`; returns when its event arrived. */
export async function untilObject<T extends KubeObject>(
  api: HttpClient,
  resource: Resource<T>,
  namespace: string,
  timeoutMs: number,
  wanted: (object: T) => boolean,
): Promise<{ object: T; at: number }> {
  const controller = new AbortController();
  const signal = AbortSignal.any([controller.signal, deadline(timeoutMs)]);
  try {
    for await (const events of api.watch(resource, { namespace, sendInitialEvents: true }, signal)) {
      for (const event of events) {
        if (event.type !== 'BOOKMARK' && event.type !== 'DELETED' && wanted(event.object)) {
          return { object: event.object, at: performance.now() };
        }
      }
    }
  } finally {
    controller.abort();
  }
  throw new Error(`the watch of ${resource.resource} ended early`);
}

export function podKey(namespace: string, name: string): ObjectKey {
  return { namespace, name };
}
