import { type Clock, ControlLoop, errorMessage } from '@gantry/base';
import type { ResourceRef } from '@gantry/objects';
import type { GroupMember, Logger } from '@gantry/service';
import type { WatchCache } from '../cache/index.ts';
import { cachedDefinitions, DEFINITIONS } from '../custom-resources/serve-definitions.ts';
import { API_SERVICES, type ApiServiceIndex } from './api-service-index.ts';
import type { LoopbackClient } from '../loopback-client.ts';
import { planRegistrations, type Registration } from './plan-registrations.ts';

export interface RegistrationOptions {
  /** The built-in resources. */
  readonly resources: readonly ResourceRef[];
  readonly cache: WatchCache;
  readonly index: ApiServiceIndex;
  readonly client: LoopbackClient;
  readonly clock: Clock;
  readonly logger: Logger;
}

const EVERY_MS = 60_000;
const RETRY_MS = 500;
const APISERVICE = { ...API_SERVICES, version: 'v1' } as const;

/**
 * Maintains an APIService for each group version that the apiservers serve themselves, built-in or custom. Every apiserver runs it. All
 * make the same decisions, so a later one has nothing to do.
 */
export function registrationController(options: RegistrationOptions): GroupMember {
  const { cache, clock, logger } = options;
  return new ControlLoop({
    name: 'api-service-registration',
    clock,
    intervalMs: EVERY_MS,
    retry: { initialMs: RETRY_MS, maxMs: EVERY_MS },
    subscribe: (notify) => [DEFINITIONS, API_SERVICES].map((resource) => cache.resource(resource).observe(notify)),
    round: async (signal) => {
      await cache.whenReady(signal);
      await Promise.all(planned(options).map((one) => carryOut(options.client, one, signal)));
    },
    onError: (error) => logger.warn({ reason: errorMessage(error) }, 'registering APIs failed, retrying'),
  });
}

function planned({ cache, index, resources }: RegistrationOptions): readonly Registration[] {
  return planRegistrations(index.all(), resources, cachedDefinitions(cache));
}

function carryOut(client: LoopbackClient, { kind, object }: Registration, signal: AbortSignal): Promise<unknown> {
  const stored = object as Extract<Registration, { kind: 'update' }>['object'];
  switch (kind) {
    case 'create':
      return client.create(APISERVICE, stored, signal);
    case 'update':
      return client.update(APISERVICE, stored, '', signal);
    case 'delete':
      return client.delete(APISERVICE, stored, signal);
  }
}
