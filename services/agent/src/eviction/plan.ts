import type { Instant } from '@gantry/base';
import type { NodePressure } from '../spec/node-pressure.ts';
import { type Observations, SIGNALS } from './signals.ts';
import { amountOf, type Threshold } from './thresholds.ts';

/** The settings for pressure conditions. */
export interface PressureConfig {
  readonly thresholds: readonly Threshold[];
  /** How long a condition stays after its threshold was last met. */
  readonly transitionMs: number;
}

/** State from earlier synchronisations. It may be lost: a restarted agent begins with `NO_PRESSURE`. */
export interface PressureState {
  /** The thresholds that are met, and since when. */
  readonly metSince: ReadonlyMap<Threshold, Instant>;
  /** Thresholds that were met for longer than their grace period. They stay met until the minimum is reclaimed. */
  readonly due: readonly Threshold[];
  readonly observedAt: ReadonlyMap<NodePressure, Instant>;
  /** The conditions that the Node shows. */
  readonly pressures: readonly NodePressure[];
}

export const NO_PRESSURE: PressureState = { metSince: new Map(), due: [], observedAt: new Map(), pressures: [] };

const ORDER: readonly NodePressure[] = ['MemoryPressure', 'DiskPressure', 'PIDPressure'];

/**
 * Computes one synchronisation, like the kubelet's eviction manager: which thresholds are met and since when, and the Node's conditions.
 * `due` lists the thresholds that require reclaiming, memory first. Times are of the monotonic clock.
 */
export function planPressure(
  { thresholds, transitionMs }: PressureConfig,
  before: PressureState,
  observations: Observations,
  now: Instant,
): PressureState {
  const kept = new Set(unresolved(before.due, observations));
  const met = thresholds.filter((threshold) => kept.has(threshold) || isMet(threshold, observations, 'threshold'));
  const metSince = new Map(met.map((threshold) => [threshold, before.metSince.get(threshold) ?? now]));
  const observed = met.map(({ signal }) => [SIGNALS[signal].pressure, now] as const);
  const observedAt = new Map([...before.observedAt, ...observed]);
  const due = met.filter((threshold) => now - (metSince.get(threshold) ?? now) >= threshold.graceMs);
  return {
    metSince,
    observedAt,
    due: [...due.filter(isOfMemory), ...due.filter((threshold) => !isOfMemory(threshold))],
    pressures: ORDER.filter((pressure) => now - (observedAt.get(pressure) ?? -Infinity) < transitionMs),
  };
}

/** Thresholds whose minimum is not reclaimed yet. */
function unresolved(thresholds: readonly Threshold[], observations: Observations): readonly Threshold[] {
  return thresholds.filter((threshold) => isMet(threshold, observations, 'minimum-reclaim'));
}

function isMet(
  { signal, value, minReclaim }: Threshold,
  observations: Observations,
  until: 'threshold' | 'minimum-reclaim',
): boolean {
  const observed = observations.get(signal);
  if (observed === undefined) return false;
  const more = until === 'threshold' || minReclaim === undefined ? 0 : amountOf(minReclaim, observed);
  return observed.available < amountOf(value, observed) + more;
}

function isOfMemory({ signal }: Threshold): boolean {
  return SIGNALS[signal].resource === 'memory';
}
