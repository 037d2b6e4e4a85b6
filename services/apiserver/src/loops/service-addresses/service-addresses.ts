import type { KubeObject } from '@gantry/objects';
import { type Clock, errorMessage } from '@gantry/base';
import type { GroupMember, Logger } from '@gantry/service';
import { IP_ADDRESSES, SERVICE_CIDRS } from '../../allocators/index.ts';
import type { WatchCache } from '../../cache/index.ts';
import type { LoopbackClient } from '../loopback-client.ts';
import { ControlLoop } from '../control-loop.ts';
import { planAddresses } from './plan-addresses.ts';
import { planRanges } from './plan-ranges.ts';

export interface ServiceAddressesOptions {
  readonly cache: WatchCache;
  readonly client: LoopbackClient;
  /** Whether it is this apiserver that does it: of several, one. */
  readonly leads: (signal: AbortSignal) => Promise<boolean>;
  readonly clock: Clock;
  readonly logger: Logger;
}

const SERVICES = { group: '', resource: 'services' } as const;
const OBSERVED = [SERVICES, IP_ADDRESSES, SERVICE_CIDRS] as const;
const EVERY_MS = 30_000;
const RETRY_MS = 500;
/** Written at the same time. */
const AT_ONCE = 16;

/** Keeps the IPAddresses of Services, and keeps ServiceCIDRs as long as addresses of them are in use. */
export function serviceAddresses(options: ServiceAddressesOptions): GroupMember {
  const { cache, clock, logger, leads } = options;
  return new ControlLoop({
    name: 'service-addresses',
    clock,
    intervalMs: EVERY_MS,
    retry: { initialMs: RETRY_MS, maxMs: EVERY_MS },
    subscribe: (notify) => OBSERVED.map((resource) => cache.resource(resource).observe(notify)),
    whenReady: (signal) => cache.whenReady(signal),
    leads,
    reconcile: (signal) => reconcile(options, signal),
    onError: (error) => logger.warn({ reason: errorMessage(error) }, "keeping Services' addresses failed, retrying"),
  });
}

/** One round. Returns after how long the next one is due. */
async function reconcile({ cache, client, clock }: ServiceAddressesOptions, signal: AbortSignal): Promise<number> {
  const all = <T extends KubeObject>(resource: (typeof OBSERVED)[number]): readonly T[] =>
    cache
      .resource(resource)
      .snapshot()
      .map(({ response }) => response.object as T);
  const addresses = all<Parameters<typeof planAddresses>[1][number]>(IP_ADDRESSES);
  const changes = planAddresses(all(SERVICES), addresses);
  const ref = { ...IP_ADDRESSES, version: 'v1' };
  for (let start = 0; start < changes.length; start += AT_ONCE) {
    await Promise.all(
      changes.slice(start, start + AT_ONCE).map(({ kind, object }) => client[kind](ref, object, signal)),
    );
  }
  let delayMs = EVERY_MS;
  for (const action of planRanges(all(SERVICE_CIDRS), addresses, clock.now())) {
    if (action.kind === 'look-again') delayMs = Math.min(delayMs, action.at - clock.now());
    else await client.update({ ...SERVICE_CIDRS, version: 'v1' }, action.object, action.subresource, signal);
  }
  return delayMs;
}
