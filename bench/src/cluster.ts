import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { KubeObject, ObjectKey, ResourceRef } from '@gantry/api';
import { createHttpClient, type HttpClient, readKubeconfig } from '@gantry/client';

export const PODS = { group: '', version: 'v1', resource: 'pods' } as const;
export const CONFIG_MAPS = { group: '', version: 'v1', resource: 'configmaps' } as const;
export const NAMESPACES = { group: '', version: 'v1', resource: 'namespaces' } as const;
export const DEPLOYMENTS = { group: 'apps', version: 'v1', resource: 'deployments' } as const;
export const LEASES = { group: 'coordination.k8s.io', version: 'v1', resource: 'leases' } as const;

/** The cluster under measurement: the one that a kubeconfig's folder belongs to. */
export interface MeasuredCluster {
  readonly project: string;
  readonly api: HttpClient;
}

export function openCluster(kubeconfig: string): MeasuredCluster {
  const settings = readFileSync(join(dirname(kubeconfig), 'env'), 'utf8');
  const project = /^GANTRY_CLUSTER_ID=(.*)$/m.exec(settings)?.[1] ?? '';
  return { project, api: createHttpClient({ ...readKubeconfig(kubeconfig), fieldManager: 'bench' }) };
}

/** Runs `work` in a namespace of its own and removes it. */
export async function inNamespace(
  api: HttpClient,
  name: string,
  work: (namespace: string) => Promise<void>,
): Promise<void> {
  const object: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
  await api.write({ verb: 'create', resource: NAMESPACES, namespace: '', object }, deadline());
  try {
    await untilObject(
      api,
      { group: '', version: 'v1', resource: 'serviceaccounts' },
      name,
      10_000,
      (account) => account.metadata.name === 'default',
    );
    await work(name);
  } finally {
    await api.write({ verb: 'delete', resource: NAMESPACES, key: { namespace: '', name } }, deadline());
  }
}

export function deadline(ms = 30_000): AbortSignal {
  return AbortSignal.timeout(ms);
}

/** Waits, by a watch, for an object of the namespace that satisfies `wanted`; the time is when its event arrived. */
export async function untilObject<T extends KubeObject>(
  api: HttpClient,
  resource: ResourceRef,
  namespace: string,
  timeoutMs: number,
  wanted: (object: T) => boolean,
): Promise<{ object: T; at: number }> {
  const controller = new AbortController();
  const signal = AbortSignal.any([controller.signal, deadline(timeoutMs)]);
  try {
    for await (const events of api.watch<T>(resource, { namespace, sendInitialEvents: true }, signal)) {
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
