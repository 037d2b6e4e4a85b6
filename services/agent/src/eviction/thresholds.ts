import { parseGoDurationMs } from '@gantry/base';
import { QuantityError, quantityValue } from '@gantry/objects';
import { isSignal, type Observation, type SignalName } from './signals.ts';

/** An amount or a share of the capacity; if both are given, the smaller one counts. */
export interface ThresholdValue {
  /** A share of the capacity, from 0 to 1. */
  readonly fraction?: number;
  /** In bytes or units. */
  readonly amount?: number;
}

/** Is met when less than `value` is available. Thresholds are compared by identity. */
export interface Threshold {
  readonly signal: SignalName;
  readonly value: ThresholdValue;
  /** How long it may be met before pods are evicted; 0 for a hard threshold. */
  readonly graceMs: number;
  /** Once met, it stays met until this much more than `value` is available. */
  readonly minReclaim?: ThresholdValue;
}

/** Thresholds in the form of the kubelet's flags: `memory.available<100Mi,nodefs.available<10%`; '' for none. */
export interface ThresholdSettings {
  readonly hard: string;
  readonly soft: string;
  /** Such as `memory.available=1m30s`; required for each soft threshold. */
  readonly softGracePeriod: string;
  /** Such as `memory.available=0,nodefs.available=500Mi`. */
  readonly minimumReclaim: string;
}

/** An invalid threshold setting. */
export class ThresholdError extends Error {
  override readonly name = 'ThresholdError';
  /** The name of the invalid setting. */
  readonly setting: keyof ThresholdSettings | undefined;

  constructor(message: string, setting?: keyof ThresholdSettings) {
    super(message);
    this.setting = setting;
  }
}

/**
 * Parses the settings like the kubelet (ParseThresholdConfig). A hard threshold for memory also applies to allocatable memory. Throws
 * ThresholdError.
 */
export function parseThresholds({
  hard,
  soft,
  softGracePeriod,
  minimumReclaim,
}: ThresholdSettings): readonly Threshold[] {
  const graces = within('softGracePeriod', () => parseEach(softGracePeriod, parseDuration));
  const reclaims = within('minimumReclaim', () => parseEach(minimumReclaim, parseReclaim));
  const read = (text: string, graceOf: (signal: SignalName) => number): Threshold[] =>
    statements(text, '<').flatMap(([signal, part]) => {
      const value = parseValue(part);
      const minReclaim = reclaims.get(signal);
      const graceMs = graceOf(signal);
      if (value === undefined) return [];
      return [{ signal, value, graceMs, minReclaim }];
    });
  const softGraceOf = (signal: SignalName): number => {
    const graceMs = graces.get(signal);
    if (graceMs !== undefined) return graceMs;
    throw new ThresholdError(`grace period must be specified for the soft eviction threshold ${signal}`);
  };
  const softOnes = within('soft', () => read(soft, softGraceOf));
  const hardOnes = within('hard', () => read(hard, () => 0));
  const allocatable = hardOnes
    .filter(({ signal }) => signal === 'memory.available')
    .map((threshold): Threshold => ({ ...threshold, signal: 'allocatableMemory.available' }));
  return [...hardOnes, ...softOnes, ...allocatable];
}

/** Adds the name of the setting to a ThresholdError. */
function within<T>(setting: keyof ThresholdSettings, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw error instanceof ThresholdError ? new ThresholdError(error.message, setting) : error;
  }
}

function parseEach<T>(text: string, parse: (value: string) => T): ReadonlyMap<SignalName, T> {
  return new Map(statements(text, '=').map(([signal, value]) => [signal, parse(value)]));
}

/** The amount of a threshold's value for an observed capacity. */
export function amountOf({ fraction, amount }: ThresholdValue, { capacity }: Observation): number {
  return Math.min(fraction === undefined ? Infinity : Math.floor(capacity * fraction), amount ?? Infinity);
}

function statements(text: string, operator: '<' | '='): readonly (readonly [SignalName, string])[] {
  const parts = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  const seen = new Set<string>();
  return parts.map((part) => {
    const [signal = '', value, ...more] = part.split(operator).map((side) => side.trim());
    if (value === undefined || value === '' || more.length > 0) {
      throw new ThresholdError(`${JSON.stringify(part)} is not SIGNAL${operator}VALUE`);
    }
    if (!isSignal(signal) || signal === 'allocatableMemory.available') {
      throw new ThresholdError(`unsupported eviction signal ${signal}`);
    }
    if (seen.has(signal)) throw new ThresholdError(`${signal} is given twice`);
    seen.add(signal);
    return [signal, value] as const;
  });
}

/** `10%`, `1Gi`, or `10%|1Gi` for the smaller of both. Undefined for 0% and 100%, which disable a threshold. */
function parseValue(text: string): ThresholdValue | undefined {
  const [first = '', second, ...more] = text.split('|');
  if (more.length > 0) throw new ThresholdError(`${JSON.stringify(text)} is not PERCENTAGE|QUANTITY`);
  if (second !== undefined && !first.endsWith('%')) {
    throw new ThresholdError(`${JSON.stringify(first)} is not a percentage`);
  }
  if (first === '0%' || first === '100%') return undefined;
  const value = first.endsWith('%') ? { fraction: parsePercentage(first) } : { amount: parseAmount(first) };
  return second === undefined ? value : { ...value, amount: parseAmount(second) };
}

function parseReclaim(text: string): ThresholdValue {
  if (!text.endsWith('%')) {
    const amount = quantity(text);
    if (amount < 0) throw new ThresholdError(`negative eviction minimum reclaim: ${text}`);
    return { amount };
  }
  const fraction = parsePercentage(text);
  if (fraction === 0) throw new ThresholdError(`eviction percentage minimum reclaim must be positive: ${text}`);
  return { fraction };
}

function parseAmount(text: string): number {
  const amount = quantity(text);
  if (amount <= 0) throw new ThresholdError(`eviction threshold must be positive: ${text}`);
  return amount;
}

function quantity(text: string): number {
  try {
    return quantityValue(text);
  } catch (error) {
    throw error instanceof QuantityError ? new ThresholdError(`${JSON.stringify(text)}: ${error.message}`) : error;
  }
}

function parsePercentage(text: string): number {
  if (!/^\d+(\.\d+)?%$/.test(text)) throw new ThresholdError(`${JSON.stringify(text)} is not a percentage`);
  const fraction = Number.parseFloat(text) / 100;
  if (fraction > 1) throw new ThresholdError(`eviction percentage threshold must be <= 100%: ${text}`);
  return fraction;
}

/** Milliseconds of a duration in Go's form: `1m30s`. */
function parseDuration(text: string): number {
  const milliseconds = parseGoDurationMs(text);
  if (milliseconds === undefined) throw new ThresholdError(`${JSON.stringify(text)} is not a duration`);
  if (milliseconds < 0) throw new ThresholdError(`eviction grace period ${text} must be positive`);
  return milliseconds;
}
