import { type KubeObject, SERVICES } from '@gantry/objects';
import { type Clock, ControlLoop, errorMessage, formatTime } from '@gantry/base';
import type { GroupMember, Logger } from '@gantry/service';
import { containsAddress, IP_ADDRESSES, readServiceRange, SERVICE_CIDRS } from '../../allocators/index.ts';
import type { WatchCache } from '../../cache/index.ts';
import type { LoopbackClient } from '../../loopback-client.ts';
import { rangeEvent, recordWarning, serviceEvent, type ServiceWarning } from '../warning-events.ts';
import { LEADS_AGAIN_MS } from '../../peer-registry.ts';
import { planAddresses, type StoredAddress } from './plan-addresses.ts';
import { planRanges, type RangeAction, type StoredRange } from './plan-ranges.ts';

export interface ServiceAddressesOptions {
  readonly cache: WatchCache;
  /** The cluster's own range of Service addresses. It counts also without a ServiceCIDR. */
  readonly serviceCidr: string;
  readonly client: LoopbackClient;
  /** Whether this apiserver does the work. Only one of several does. */
  readonly leads: (signal: AbortSignal) => Promise<boolean>;
  readonly clock: Clock;
  readonly logger: Logger;
}

const OBSERVED = [SERVICES, IP_ADDRESSES, SERVICE_CIDRS] as const;
const EVERY_MS = 30_000;
const RETRY_MS = 500;
/** Maximum number of concurrent writes. */
const AT_ONCE = 16;

/** Maintains the IPAddresses of Services, and keeps ServiceCIDRs while their addresses are in use. */
export function serviceAddresses(options: ServiceAddressesOptions): GroupMember {
  const { cache, clock, logger, leads } = options;
  return new ControlLoop({
    name: 'service-addresses',
    clock,
    intervalMs: EVERY_MS,
    retry: { initialMs: RETRY_MS, maxMs: EVERY_MS },
    subscribe: (notify) => OBSERVED.map((resource) => cache.resource(resource).observe(notify)),
    round: async (signal) => {
      await cache.whenReady(signal);
      return (await leads(signal)) ? await reconcile(options, signal) : LEADS_AGAIN_MS;
    },
    onError: (error) => logger.warn({ reason: errorMessage(error) }, "keeping Services' addresses failed, retrying"),
  });
}

/** Runs one round. Returns the time until the next one is due. */
async function reconcile(options: ServiceAddressesOptions, signal: AbortSignal): Promise<number> {
  const { cache, client, clock } = options;
  const all = <T extends KubeObject>(resource: (typeof OBSERVED)[number]): readonly T[] =>
    cache
      .resource(resource)
      .snapshot()
      .map(({ response }) => response.object as T);
  const addresses = all<StoredAddress>(IP_ADDRESSES);
  const stored = all<StoredRange>(SERVICE_CIDRS);
  const cidrs = [options.serviceCidr, ...stored.flatMap(({ spec }) => spec?.cidrs ?? [])];
  const ranges = cidrs.flatMap((cidr) => readServiceRange(cidr) ?? []);
  const isInRange = (address: string) => ranges.some((range) => containsAddress(range, address));
  const actions = planAddresses({ services: all(SERVICES), stored: addresses, isInRange }, clock.now());
  const ref = { ...IP_ADDRESSES, version: 'v1' };
  // Deletes come before creates, because a replacement has the name of its predecessor.
  for (const kind of ['warn', 'delete', 'create'] as const) {
    const ofKind = actions.filter((action) => action.kind === kind);
    for (let start = 0; start < ofKind.length; start += AT_ONCE) {
      const some = ofKind.slice(start, start + AT_ONCE);
      await Promise.all(
        some.map(async (action) => {
          if (action.kind === 'warn') await reportService(options, action.warning, signal);
          else await client[action.kind](ref, action.object, signal);
        }),
      );
    }
  }
  let delayMs = EVERY_MS;
  for (const action of planRanges(stored, addresses, clock.now())) {
    if (action.kind === 'look-again') delayMs = Math.min(delayMs, action.at - clock.now());
    else await updateRange(options, action, signal);
  }
  return delayMs;
}

/** Updates a ServiceCIDR. If its condition Ready cannot be written, reports that; the round fails and is repeated. */
async function updateRange(
  options: ServiceAddressesOptions,
  { object, subresource }: Extract<RangeAction, { kind: 'update' }>,
  signal: AbortSignal,
): Promise<void> {
  try {
    await options.client.update({ ...SERVICE_CIDRS, version: 'v1' }, object, subresource, signal);
  } catch (error) {
    if (!signal.aborted && subresource === 'status' && isReady(object)) {
      await recordWarning(options, rangeEvent(object, formatTime(options.clock.now())), signal);
    }
    throw error;
  }
}

function isReady({ status }: StoredRange): boolean {
  return status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') === true;
}

async function reportService(
  options: ServiceAddressesOptions,
  warning: ServiceWarning,
  signal: AbortSignal,
): Promise<void> {
  await recordWarning(options, serviceEvent(warning, formatTime(options.clock.now())), signal);
}
