import { createHttpClient, type HttpClient, readKubeconfig } from '@gantry/client';
import type { ConfigMap, KubeObject } from '@gantry/objects';
import { afterAll } from 'vitest';
import type { Cluster } from './cluster.ts';

export const CLIENTS = 64;

/** Clients with connections of their own, so that the load balancer spreads them over the apiservers. They close after the file's tests. */
export function connectClients({ kubeconfig }: Cluster, fieldManager: string): readonly HttpClient[] {
  const clients = Array.from({ length: CLIENTS }, () =>
    createHttpClient({ ...readKubeconfig(kubeconfig), fieldManager }),
  );
  afterAll(() => {
    for (const client of clients) client[Symbol.dispose]();
  });
  return clients;
}

/** Where a namespace's ConfigMaps are, or the one of that name. */
export function pathOf(namespace: string, name = ''): string {
  return `/api/v1/namespaces/${namespace}/configmaps${name === '' ? '' : `/${name}`}`;
}

export function configMap(
  name: string,
  data: Readonly<Record<string, string>>,
  resourceVersion?: string,
): ConfigMap & KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, ...(resourceVersion === undefined ? {} : { resourceVersion }) },
    data,
  };
}
