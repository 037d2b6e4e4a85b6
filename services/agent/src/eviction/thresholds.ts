import { parseGoDurationMs } from '@gantry/base';
import { QuantityError, quantityValue } from '@gantry/objects';
import { isSignal, type Observation, type SignalName } from './signals.ts';

/** An amount, a part of the capacity, or where both are given the less of them. */
export interface ThresholdValue {
  /** Of the capacity, from 0 to 1. */
  readonly fraction?: number;
  /** In bytes or pieces. */
  readonly amount?: number;
}

/** Of what there must not be less than `value`. One is known by its identity. */
export interface Threshold {
  readonly signal: SignalName;
  readonly value: ThresholdValue;
  /** How long it may be met before pods are evicted; 0 for a hard one. */
  readonly graceMs: number;
  /** Once met, it is met until so much more is available. */
  readonly minReclaim?: ThresholdValue;
}

/** Thresholds in the form of the kubelet's flags: `memory.available<100Mi,nodefs.available<10%`; '' for none. */
export interface ThresholdSettings {
  readonly hard: string;
  readonly soft: string;
  /** `memory.available=1m30s`: every soft threshold needs one. */
  readonly softGracePeriod: string;
  /** `memory.available=0,nodefs.available=500Mi`. */
  readonly minimumReclaim: string;
}

/** A setting that is none. */
export class ThresholdError extends Error {
  override readonly name = 'ThresholdError';
  /** Which one it is. */
  readonly setting: keyof ThresholdSettings | undefined;

  constructor(message: string, setting?: keyof ThresholdSettings) {
    super(message);
    this.setting = setting;
  }
}

/**
 * Reads the settings as the kubelet does (ParseThresholdConfig); throws ThresholdError. A hard one of memory is one of allocatable memory
 * too.
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

/** Adds to an error which setting it is about. */
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

/** The amount that a value is of what was observed. */
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

/** `10%`, `1Gi`, or `10%|1Gi` for the less of both. Undefined for 0 % and 100 %, which switch a threshold off. */
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
