import { type ConfigMap, equalJson, findResource, type KubeObject } from '@gantry/api';
import { type Clock, errorMessage, must } from '@gantry/base';
import type { GroupMember, Logger, TlsSource } from '@gantry/service';
import { objectKey, type WatchCache } from '../cache/index.ts';
import { FRONT_PROXY, USER_HEADERS } from './front-proxy.ts';
import type { OwnWrites } from '../upkeep/own-writes.ts';
import { Wake } from '../upkeep/wake.ts';

export interface AuthenticationConfigOptions {
  readonly cache: WatchCache;
  readonly writes: OwnWrites;
  /** Of clients of the API: its authority. */
  readonly tls: TlsSource;
  readonly frontProxy: TlsSource;
  readonly clock: Clock;
  readonly logger: Logger;
}

const CONFIG_MAPS = { group: '', version: 'v1', resource: 'configmaps' } as const;
const NAMESPACE = 'kube-system';
const NAME = 'extension-apiserver-authentication';
const EVERY_MS = 60_000;
const RETRY_MS = 500;

/** Keeps the ConfigMap by which extension servers know whom to believe: which authority, which name, which headers. */
export function authenticationConfig(options: AuthenticationConfigOptions): GroupMember {
  const { cache, clock, logger } = options;
  return {
    name: 'extension-authentication',
    run: async (signal) => {
      const wake = new Wake();
      const stops = [
        options.tls.subscribe(wake.ring),
        options.frontProxy.subscribe(wake.ring),
        cache.resource(CONFIG_MAPS).observe(wake.ring),
      ];
      while (!signal.aborted) {
        let delayMs = EVERY_MS;
        try {
          await cache.whenReady(signal);
          await reconcile(options, signal);
        } catch (error) {
          if (!signal.aborted) logger.info({ reason: errorMessage(error) }, `${NAMESPACE}/${NAME} is tried again`);
          delayMs = RETRY_MS;
        }
        await wake.wait(clock, delayMs, signal);
      }
      for (const stop of stops) stop();
    },
  };
}

async function reconcile(options: AuthenticationConfigOptions, signal: AbortSignal): Promise<void> {
  const { cache, writes } = options;
  const definition = must(findResource(CONFIG_MAPS), CONFIG_MAPS.resource);
  const entry = cache.resource(definition).get(objectKey(definition, NAMESPACE, NAME));
  const stored: (ConfigMap & KubeObject) | undefined = entry?.answer.object;
  const data = { ...stored?.data, ...wantedData(options) };
  if (stored === undefined) {
    const metadata = { name: NAME, namespace: NAMESPACE };
    await writes.create(CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data } as KubeObject, signal);
  } else if (!equalJson(stored.data ?? {}, data)) {
    await writes.update(CONFIG_MAPS, { ...stored, data } as KubeObject, '', signal);
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
