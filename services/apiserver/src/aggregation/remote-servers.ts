import type { Agent } from 'node:https';
import type { ConnectionOptions } from 'node:tls';
import { rootCertificates } from 'node:tls';
import type { Random } from '@gantry/base';
import { createHttpsAgent, type TlsSource } from '@gantry/tls';
import { resolveService, type ServiceObjects } from '../webhooks/index.ts';
import type { Backend } from '../http/backend.ts';
import type { RemoteApi } from './api-service-index.ts';

/** Connections to extension servers: their current addresses and the TLS settings of each. */
export interface RemoteServers {
  /** The backend of an extension server. Throws WebhookCallError when its Service has no endpoints. */
  backend(remote: RemoteApi): Backend;
  /** Closes the connections of a deleted APIService. */
  forget(name: string): void;
  close(): void;
}

export function createRemoteServers(options: {
  readonly objects: ServiceObjects;
  /** The client certificate of the front proxy, which identifies this server as an apiserver. */
  readonly tls: TlsSource;
  readonly random: Random;
}): RemoteServers {
  const { objects, tls, random } = options;
  const agents = new Map<string, { readonly key: string; readonly agent: Agent }>();
  const drop = (name: string): void => {
    agents.get(name)?.agent.destroy();
    agents.delete(name);
  };
  const close = (): void => {
    for (const name of [...agents.keys()]) drop(name);
  };
  // Connections with the old certificate are closed.
  const unsubscribe = tls.subscribe(close);
  const agentOf = (remote: RemoteApi): Agent => {
    const { service, caBundle, insecureSkipTLSVerify } = remote;
    const key = JSON.stringify([service, caBundle, insecureSkipTLSVerify]);
    const known = agents.get(remote.name);
    if (known?.key === key) return known.agent;
    drop(remote.name);
    const agent = createHttpsAgent({ minVersion: 'TLSv1.2' });
    agents.set(remote.name, { key, agent });
    return agent;
  };
  return {
    backend: (remote) => ({
      scheme: 'https',
      ...resolveService(objects, remote.service, random),
      tls: tlsOf(remote, tls),
      agent: agentOf(remote),
    }),
    forget: drop,
    close: () => {
      unsubscribe();
      close();
    },
  };
}

function tlsOf({ service, caBundle, insecureSkipTLSVerify }: RemoteApi, tls: TlsSource): ConnectionOptions {
  const { cert, key } = tls.current();
  return {
    cert,
    key,
    servername: `${service.name}.${service.namespace}.svc`,
    rejectUnauthorized: !insecureSkipTLSVerify,
    ca: caBundle === '' ? [...rootCertificates] : Buffer.from(caBundle, 'base64').toString('utf8'),
  };
}
