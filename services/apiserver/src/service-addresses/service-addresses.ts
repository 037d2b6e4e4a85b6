import type { KubeObject } from '@gantry/api';
import { type Clock, errorMessage } from '@gantry/base';
import type { GroupMember, Logger } from '@gantry/service';
import { IP_ADDRESSES, SERVICE_CIDRS } from '../allocators/index.ts';
import type { WatchCache } from '../cache/index.ts';
import type { OwnWrites } from '../upkeep/own-writes.ts';
import { Wake } from '../upkeep/wake.ts';
import { planAddresses } from './plan-addresses.ts';
import { planRanges } from './plan-ranges.ts';

export interface ServiceAddressesOptions {
  readonly cache: WatchCache;
  readonly writes: OwnWrites;
  /** Whether it is this apiserver that does it: of several, one. */
  readonly leads: (signal: AbortSignal) => Promise<boolean>;
  readonly clock: Clock;
  readonly logger: Logger;
}

const SERVICES = { group: '', resource: 'services' } as const;
const OBSERVED = [SERVICES, IP_ADDRESSES, SERVICE_CIDRS] as const;
const EVERY_MS = 30_000;
/** How soon one that does not lead notices that it does. */
const LEADS_AGAIN_MS = 5000;
const RETRY_MS = 500;
/** Written at the same time. */
const AT_ONCE = 16;

/** Keeps IPAddresses of Services' addresses, and the ServiceCIDRs that they are of, as long as they are needed. */
export function serviceAddresses(options: ServiceAddressesOptions): GroupMember {
  const { cache, clock, logger, leads } = options;
  return {
    name: 'service-addresses',
    run: async (signal) => {
      const wake = new Wake();
      const stops = OBSERVED.map((resource) => cache.resource(resource).observe(wake.ring));
      while (!signal.aborted) {
        let delayMs: number;
        try {
          await cache.whenReady(signal);
          delayMs = (await leads(signal)) ? await reconcile(options, signal) : LEADS_AGAIN_MS;
        } catch (error) {
          if (!signal.aborted) logger.warn({ reason: errorMessage(error) }, "Services' addresses are tried again");
          delayMs = RETRY_MS;
        }
        await wake.wait(clock, delayMs, signal);
      }
      for (const stop of stops) stop();
    },
  };
}

/** Does what there is to do, and says how long nothing will be unless something changes. */
async function reconcile({ cache, writes, clock }: ServiceAddressesOptions, signal: AbortSignal): Promise<number> {
  const all = <T extends KubeObject>(resource: (typeof OBSERVED)[number]): readonly T[] =>
    cache
      .resource(resource)
      .snapshot()
      .map(({ answer }) => answer.object as T);
  const addresses = all<Parameters<typeof planAddresses>[1][number]>(IP_ADDRESSES);
  const changes = planAddresses(all(SERVICES), addresses);
  const ref = { ...IP_ADDRESSES, version: 'v1' };
  for (let start = 0; start < changes.length; start += AT_ONCE) {
    await Promise.all(
      changes.slice(start, start + AT_ONCE).map(({ kind, object }) => writes[kind](ref, object, signal)),
    );
  }
  let delayMs = EVERY_MS;
  for (const action of planRanges(all(SERVICE_CIDRS), addresses, clock.now())) {
    if (action.kind === 'look-again') delayMs = Math.min(delayMs, action.at - clock.now());
    else await writes.update({ ...SERVICE_CIDRS, version: 'v1' }, action.object, action.subresource, signal);
  }
  return delayMs;
}
