import type { ApiObject, ContainerSpec } from './api-objects.ts';

const SUFFIXES: Readonly<Record<string, readonly [bigint, bigint]>> = {
  n: [1n, 1_000_000_000n],
  u: [1n, 1_000_000n],
  m: [1n, 1000n],
  '': [1n, 1n],
  k: [1000n, 1n],
  M: [1000n ** 2n, 1n],
  G: [1000n ** 3n, 1n],
  T: [1000n ** 4n, 1n],
  P: [1000n ** 5n, 1n],
  E: [1000n ** 6n, 1n],
  Ki: [1024n, 1n],
  Mi: [1024n ** 2n, 1n],
  Gi: [1024n ** 3n, 1n],
  Ti: [1024n ** 4n, 1n],
  Pi: [1024n ** 5n, 1n],
  Ei: [1024n ** 6n, 1n],
};
const NANO = 1_000_000_000n;
const QUANTITY = /^([+-]?)(\d+)(?:\.(\d*))?(?:[eE]([+-]?\d{1,2})|([numkMGTPE]|[KMGTPE]i)?)$/;

/** A quantity in units of 10⁻⁹, rounded up. Undefined for text that is no quantity. */
export function nanosOf(quantity: string | number | undefined): bigint | undefined {
  const parts = QUANTITY.exec(String(quantity ?? ''));
  if (parts === null) return undefined;
  const [, sign = '', whole = '', fraction = '', exponent, suffix = ''] = parts;
  const [times, by] = exponent === undefined ? (SUFFIXES[suffix] ?? [1n, 1n]) : power(Number(exponent));
  const digits = BigInt(whole + fraction);
  const divisor = by * 10n ** BigInt(fraction.length);
  const product = digits * times * NANO;
  const nanos = (product + divisor - 1n) / divisor;
  return sign === '-' ? -nanos : nanos;
}

function power(exponent: number): readonly [bigint, bigint] {
  return exponent >= 0 ? [10n ** BigInt(exponent), 1n] : [1n, 10n ** BigInt(-exponent)];
}

/** Requests by resource, in units of 10⁻⁹. */
export type Requests = ReadonlyMap<string, bigint>;

function requestsOf(container: ContainerSpec): Requests {
  const requests = Object.entries(container.resources?.requests ?? {});
  return new Map(requests.flatMap(([name, value]) => pair(name, nanosOf(value))));
}

function pair(name: string, nanos: bigint | undefined): readonly (readonly [string, bigint])[] {
  return nanos === undefined ? [] : [[name, nanos]];
}

/** `into` plus each of `more`. */
export function add(into: Map<string, bigint>, more: Requests): void {
  for (const [name, nanos] of more) into.set(name, (into.get(name) ?? 0n) + nanos);
}

/**
 * What a pod requests of a node, and `pods: 1`: the sum of its containers and sidecars, or an init container with the sidecars before it,
 * whichever is larger, and the overhead.
 */
export function podRequests({ spec }: ApiObject): Requests {
  const running = new Map<string, bigint>();
  const peak = new Map<string, bigint>();
  for (const container of spec?.initContainers ?? []) {
    const needed = new Map(running);
    add(needed, requestsOf(container));
    for (const [name, nanos] of needed) if (nanos > (peak.get(name) ?? 0n)) peak.set(name, nanos);
    if (container.restartPolicy === 'Always') add(running, requestsOf(container));
  }
  for (const container of spec?.containers ?? []) add(running, requestsOf(container));
  for (const [name, nanos] of peak) if (nanos > (running.get(name) ?? 0n)) running.set(name, nanos);
  add(running, new Map(Object.entries(spec?.overhead ?? {}).flatMap(([name, value]) => pair(name, nanosOf(value)))));
  running.set('pods', NANO);
  return running;
}
