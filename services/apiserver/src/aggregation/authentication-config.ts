import { findResource } from '@gantry/kinds';
import { CONFIG_MAPS, type ConfigMap, equalJson, type KubeObject } from '@gantry/objects';
import { type Clock, ControlLoop, errorMessage, must } from '@gantry/base';
import type { GroupMember, Logger } from '@gantry/service';
import type { TlsSource } from '@gantry/tls';
import { objectKey, type WatchCache } from '../cache/index.ts';
import { FRONT_PROXY, USER_HEADERS } from './front-proxy.ts';
import type { LoopbackClient } from '../loopback-client.ts';

export interface AuthenticationConfigOptions {
  readonly cache: WatchCache;
  readonly client: LoopbackClient;
  /** TLS material with the CA of API clients. */
  readonly tls: TlsSource;
  readonly frontProxy: TlsSource;
  readonly clock: Clock;
  readonly logger: Logger;
}

const NAMESPACE = 'kube-system';
const NAME = 'extension-apiserver-authentication';
const EVERY_MS = 60_000;
const RETRY_MS = 500;

/** Maintains the ConfigMap that tells extension servers which CA, client name and headers to trust. */
export function authenticationConfig(options: AuthenticationConfigOptions): GroupMember {
  const { cache, clock, logger, tls, frontProxy } = options;
  return new ControlLoop({
    name: 'extension-authentication',
    clock,
    intervalMs: EVERY_MS,
    retry: { initialMs: RETRY_MS, maxMs: EVERY_MS },
    subscribe: (notify) => [
      tls.subscribe(notify),
      frontProxy.subscribe(notify),
      cache.resource(CONFIG_MAPS).observe(notify),
    ],
    round: async (signal) => {
      await cache.whenReady(signal);
      await reconcile(options, signal);
    },
    onError: (error) => logger.info({ reason: errorMessage(error) }, `writing ${NAMESPACE}/${NAME} failed, retrying`),
  });
}

async function reconcile(options: AuthenticationConfigOptions, signal: AbortSignal): Promise<void> {
  const { cache, client } = options;
  const definition = must(findResource(CONFIG_MAPS), CONFIG_MAPS.resource);
  const entry = cache.resource(definition).get(objectKey(definition, NAMESPACE, NAME));
  const stored: (ConfigMap & KubeObject) | undefined = entry?.response.object;
  const data = { ...stored?.data, ...wantedData(options) };
  if (stored === undefined) {
    const metadata = { name: NAME, namespace: NAMESPACE };
    await client.create(CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data } as KubeObject, signal);
  } else if (!equalJson(stored.data ?? {}, data)) {
    await client.update(CONFIG_MAPS, { ...stored, data } as KubeObject, '', signal);
  }
}

function wantedData({ tls, frontProxy }: AuthenticationConfigOptions): Readonly<Record<string, string>> {
  return {
    'client-ca-file': tls.current().ca.toString('utf8'),
    'requestheader-allowed-names': JSON.stringify([FRONT_PROXY]),
    'requestheader-client-ca-file': frontProxy.current().ca.toString('utf8'),
    'requestheader-extra-headers-prefix': JSON.stringify([USER_HEADERS.extraPrefix]),
    'requestheader-group-headers': JSON.stringify([USER_HEADERS.group]),
    'requestheader-uid-headers': JSON.stringify([USER_HEADERS.uid]),
    'requestheader-username-headers': JSON.stringify([USER_HEADERS.username]),
  };
}
