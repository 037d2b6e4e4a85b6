import { type Clock, errorMessage } from '@gantry/base';
import type { GroupMember, Logger } from '@gantry/service';
import type { WatchCache } from '../cache/index.ts';
import { cachedDefinitions, DEFINITIONS } from '../custom-resources/serve-definitions.ts';
import { API_SERVICES, type ApiServiceIndex } from './api-service-index.ts';
import type { OwnWrites } from '../upkeep/own-writes.ts';
import { planRegistrations, type Registration } from './plan-registrations.ts';
import { Wake } from '../upkeep/wake.ts';

export interface RegistrationOptions {
  readonly cache: WatchCache;
  readonly index: ApiServiceIndex;
  readonly writes: OwnWrites;
  readonly clock: Clock;
  readonly logger: Logger;
}

const EVERY_MS = 60_000;
const RETRY_MS = 500;
const APISERVICE = { ...API_SERVICES, version: 'v1' } as const;

/**
 * Keeps an APIService for each group version that the apiservers serve themselves, built-in or custom. Every apiserver does: all
 * decide the same, and who comes second finds it done.
 */
export function registrationController(options: RegistrationOptions): GroupMember {
  const { cache, clock, logger } = options;
  return {
    name: 'api-service-registration',
    run: async (signal) => {
      const wake = new Wake();
      const stops = [DEFINITIONS, API_SERVICES].map((resource) => cache.resource(resource).observe(wake.ring));
      while (!signal.aborted) {
        let delayMs = EVERY_MS;
        try {
          await cache.whenReady(signal);
          await Promise.all(planned(options).map((one) => carryOut(options.writes, one, signal)));
        } catch (error) {
          if (!signal.aborted) logger.warn({ reason: errorMessage(error) }, 'registering APIs is tried again');
          delayMs = RETRY_MS;
        }
        await wake.wait(clock, delayMs, signal);
      }
      for (const stop of stops) stop();
    },
  };
}

function planned({ cache, index }: RegistrationOptions): readonly Registration[] {
  return planRegistrations(index.all(), cachedDefinitions(cache));
}

function carryOut(writes: OwnWrites, { kind, object }: Registration, signal: AbortSignal): Promise<void> {
  const stored = object as Extract<Registration, { kind: 'update' }>['object'];
  switch (kind) {
    case 'create':
      return writes.create(APISERVICE, stored, signal);
    case 'update':
      return writes.update(APISERVICE, stored, '', signal);
    case 'delete':
      return writes.delete(APISERVICE, stored, signal);
  }
}
