import type { KubeObject, ServiceCIDR } from '@gantry/objects';
import { formatTime, type Instant } from '@gantry/base';
import { containsAddress, readServiceRange } from '../../allocators/index.ts';
import { ALLOCATOR, MANAGED_BY, type StoredAddress } from './plan-addresses.ts';

export type StoredRange = ServiceCIDR & KubeObject;

export const PROTECTION = 'networking.k8s.io/service-cidr-finalizer';
/** After this time, no apiserver allocates addresses of a terminating range any more. */
const GRACE_MS = 10_000;

export type RangeAction =
  | { readonly kind: 'update'; readonly object: StoredRange; readonly subresource: '' | 'status' }
  | { readonly kind: 'look-again'; readonly at: Instant };

/** Plans the finalizers of ranges: a range is kept until all its used addresses are also in another range. */
export function planRanges(
  ranges: readonly StoredRange[],
  addresses: readonly StoredAddress[],
  now: Instant,
): readonly RangeAction[] {
  const given = addresses.filter(({ metadata }) => metadata.labels?.[MANAGED_BY] === ALLOCATOR);
  return ranges.flatMap((range) => planRange(range, ranges, given, now) ?? []);
}

function planRange(
  range: StoredRange,
  all: readonly StoredRange[],
  given: readonly StoredAddress[],
  now: Instant,
): RangeAction | undefined {
  const { metadata } = range;
  const finalizers = metadata.finalizers ?? [];
  const isProtected = finalizers.includes(PROTECTION);
  if (metadata.deletionTimestamp === undefined) {
    if (!isProtected) return withFinalizers(range, [...finalizers, PROTECTION]);
    return told(range, { status: 'True', reason: '', message: 'Kubernetes Service CIDR is ready' }, now);
  }
  if (!isProtected) return undefined;
  if (!isDispensable(range, all, given)) {
    const message =
      'There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR';
    return told(range, { status: 'False', reason: 'Terminating', message }, now);
  }
  const goesAt = Date.parse(metadata.deletionTimestamp) + GRACE_MS;
  if (goesAt > now) return { kind: 'look-again', at: goesAt };
  return withFinalizers(
    range,
    finalizers.filter((one) => one !== PROTECTION),
  );
}

function withFinalizers(range: StoredRange, finalizers: string[]): RangeAction {
  const object = { ...range, metadata: { ...range.metadata, finalizers } };
  return { kind: 'update', object, subresource: '' };
}

/** The range with its condition Ready; undefined when the condition is already correct. */
function told(
  range: StoredRange,
  { status, reason, message }: { readonly status: string; readonly reason: string; readonly message: string },
  now: Instant,
): RangeAction | undefined {
  const conditions = range.status?.conditions ?? [];
  const before = conditions.find(({ type }) => type === 'Ready');
  if (before?.status === status && (before.reason ?? '') === reason && before.message === message) return undefined;
  const condition = { type: 'Ready', status, reason, message, lastTransitionTime: formatTime(now) };
  const others = conditions.filter(({ type }) => type !== 'Ready');
  return {
    kind: 'update',
    object: { ...range, status: { conditions: [...others, condition] } },
    subresource: 'status',
  };
}

/** Whether every used address of the range is also in another range. */
function isDispensable(range: StoredRange, all: readonly StoredRange[], given: readonly StoredAddress[]): boolean {
  const others = all.filter((one) => one !== range);
  return given.every(
    ({ metadata }) => !holds(range, metadata.name ?? '') || others.some((one) => holds(one, metadata.name ?? '')),
  );
}

function holds({ spec }: StoredRange, address: string): boolean {
  return (spec?.cidrs ?? []).some((cidr) => {
    const range = readServiceRange(cidr);
    return range !== undefined && containsAddress(range, address);
  });
}
