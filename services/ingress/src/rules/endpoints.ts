import { BlockList, isIPv4 } from 'node:net';
import { CLOSED_RANGES, type EndpointSlice } from '@gantry/objects';
import type { Backend } from './backend.ts';

/** An address and port to which a backend's requests are sent, such as `10.128.4.7:8080`. */
type Target = string;

/**
 * Returns the endpoints of a backend from all slices of its Service: the ready ones, or else those that terminate but still serve. If an
 * address is listed twice, the entry that is not terminating counts, because a pod's address may be given to another pod before the first
 * pod is gone.
 */
export function targetsOf(
  backend: Backend,
  slices: readonly EndpointSlice[],
  mayServe: (address: string) => boolean,
): ReadonlySet<Target> {
  const states = new Map<Target, 'ready' | 'serving-terminating'>();
  for (const slice of slices) {
    if (slice.addressType !== 'IPv4') continue;
    const port = (slice.ports ?? []).find(
      ({ name, protocol }) => (name ?? '') === backend.port && isTcp(protocol),
    )?.port;
    // The API writes null for an unknown port and for empty lists.
    if (typeof port !== 'number') continue;
    for (const { addresses, conditions = {} } of slice.endpoints ?? []) {
      const [address = ''] = addresses;
      if (!mayServe(address)) continue;
      const target = `${address}:${port}`;
      const isServingOn = (conditions.serving ?? true) && (conditions.terminating ?? false);
      if (conditions.ready ?? true) states.set(target, 'ready');
      else if (isServingOn && !states.has(target)) states.set(target, 'serving-terminating');
    }
  }
  const ready = [...states].filter(([, state]) => state === 'ready');
  return new Set((ready.length > 0 ? ready : [...states]).map(([target]) => target).toSorted());
}

function isTcp(protocol: string | undefined): boolean {
  return (protocol ?? 'TCP') === 'TCP';
}

/** Whether an address may be an endpoint: it is outside of `CLOSED_RANGES` and of the ranges and addresses in `others`. */
export function endpointFilter(others: readonly string[]): (address: string) => boolean {
  const closed = new BlockList();
  for (const range of [...CLOSED_RANGES, ...others]) {
    const [address = '', bits = '32'] = range.split('/');
    closed.addSubnet(address, Number(bits), 'ipv4');
  }
  return (address) => isIPv4(address) && !closed.check(address, 'ipv4');
}
