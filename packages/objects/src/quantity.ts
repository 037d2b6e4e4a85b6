import { StatusError } from './status-error.ts';

/** The format in which a quantity was written and will be written again: `1500m`, `1Gi`, `1e3`. */
export type QuantityFormat = 'decimalSI' | 'binarySI' | 'decimalExponent';

/** An exact amount of a resource. Immutable. */
export interface Quantity {
  /** The amount in billionths, the smallest step that Kubernetes keeps. */
  readonly nano: bigint;
  readonly format: QuantityFormat;
  /** The original text, if Kubernetes keeps it instead of the canonical form. */
  readonly text?: string;
}

/** The text is not a quantity; the message is Kubernetes'. */
export class QuantityError extends Error {
  override readonly name = 'QuantityError';
}

const FORM = /^([+-]?)([0-9]*)(?:\.([0-9]*))?((?:[eEinumkKMGTP]+[-+]?|[-+])[0-9]*|)$/;
const FORMAT_WRONG = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const NUMERIC_WRONG = 'unable to parse numeric part of quantity';
const SUFFIX_WRONG = "unable to parse quantity's suffix";
const DECIMAL: readonly string[] = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'];
const BINARY: readonly string[] = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const NANO = 1_000_000_000n;
const MAX_BINARY = (2n ** 63n - 1n) * NANO;
/**
 * The maximum number of digits. Real amounts have fewer, and arithmetic on long numbers takes more than linear time. Kubernetes has no such
 * limit.
 */
const MAX_DIGITS = 128;
const MAX_DIGITS_NANO = 10n ** BigInt(MAX_DIGITS);
/** Sign, point and exponent included. */
const MAX_TEXT = MAX_DIGITS + 32;
/** The maximum power of ten. Kubernetes has no such limit. */
const MAX_EXPONENT = 100;

/** Parses a quantity; throws QuantityError. */
export function parseQuantity(text: string): Quantity {
  if (text === '') throw new QuantityError(FORMAT_WRONG);
  if (text.length > MAX_TEXT) throw new QuantityError(/^[+-]?[0-9.]+/.test(text) ? NUMERIC_WRONG : FORMAT_WRONG);
  const parts = FORM.exec(text);
  if (parts === null) throw new QuantityError(FORMAT_WRONG);
  const [, sign = '', whole = '', fraction = '', suffix = ''] = parts;
  if (whole === '' && fraction === '' && suffix !== '') throw new QuantityError(NUMERIC_WRONG);
  if (whole.length + fraction.length > MAX_DIGITS) throw new QuantityError(NUMERIC_WRONG);
  const { base, exponent, format } = interpretSuffix(suffix);
  const digits = BigInt(`${whole}${fraction}` || '0');
  const numerator = base === 2 ? digits * 2n ** BigInt(exponent) * NANO : digits;
  const shift = base === 2 ? -fraction.length : exponent - fraction.length + 9;
  let nano = scale(numerator, shift);
  if (format === 'binarySI' && nano > MAX_BINARY) nano = MAX_BINARY;
  const settled = format === 'binarySI' && nano > 0n && nano < NANO ? 'decimalSI' : format;
  const kept = keepsText({ whole, fraction, exponent, base });
  return { nano: sign === '-' ? -nano : nano, format: settled, ...(kept ? { text } : {}) };
}

/** `value` times ten to the power of `shift`, rounded away from zero. */
function scale(value: bigint, shift: number): bigint {
  if (shift >= 0) return value * 10n ** BigInt(shift);
  return divideUp(value, 10n ** BigInt(-shift));
}

function divideUp(value: bigint, by: bigint): bigint {
  const quotient = value / by;
  if (value % by === 0n) return quotient;
  return value < 0n ? quotient - 1n : quotient + 1n;
}

function interpretSuffix(suffix: string): { base: 2 | 10; exponent: number; format: QuantityFormat } {
  const decimal = DECIMAL.indexOf(suffix);
  if (decimal >= 0) return { base: 10, exponent: (decimal - 3) * 3, format: 'decimalSI' };
  const binary = BINARY.indexOf(suffix);
  if (binary >= 0) return { base: 2, exponent: binary * 10, format: 'binarySI' };
  const power = /^[eE]([+-]?[0-9]+)$/.exec(suffix)?.[1];
  if (power === undefined || Math.abs(Number(power)) > MAX_EXPONENT) throw new QuantityError(SUFFIX_WRONG);
  return { base: 10, exponent: Number(power), format: 'decimalExponent' };
}

/** Whether Kubernetes keeps the original text because its quick check takes it for canonical, such as `1.500`. */
function keepsText(read: { whole: string; fraction: string; exponent: number; base: 2 | 10 }): boolean {
  const whole = read.whole.replace(/^0+(?=.)/, '').replace(/^0$/, read.fraction === '' ? '0' : '0');
  const digits = whole + read.fraction;
  if (read.base === 2) {
    const precision = 15 - whole.length - Math.trunc((read.exponent * 3) / 10) - 1;
    return read.fraction === '' && precision >= 0 && (BigInt(digits || '0') & 7n) !== 0n;
  }
  const scaleOf = read.exponent - read.fraction.length;
  return (
    digits.length <= 18 && scaleOf >= -9 && scaleOf % 3 === 0 && !digits.endsWith('000') && !digits.startsWith('0')
  );
}

/** The canonical text: no fraction, and no trailing zeros that a suffix can express. */
export function formatQuantity(quantity: Quantity): string {
  if (quantity.text !== undefined) return quantity.text;
  const { nano, format } = quantity;
  if (nano === 0n) return '0';
  const isBinary = format === 'binarySI' && abs(nano) >= 1024n * NANO && nano % NANO === 0n;
  return isBinary ? formatBinary(nano / NANO) : formatDecimal(nano, format);
}

function formatBinary(value: bigint): string {
  let mantissa = value;
  let step = 0;
  while (mantissa % 1024n === 0n && step < BINARY.length - 1) {
    mantissa /= 1024n;
    step++;
  }
  return `${mantissa}${BINARY[step] ?? ''}`;
}

/** The number of zeros from billionths to the largest suffix. */
const MAX_ZEROS = 27;

function formatDecimal(nano: bigint, format: QuantityFormat): string {
  const digits = nano.toString();
  const zeros = digits.length - digits.replace(/0+$/, '').length;
  const most = format === 'decimalExponent' ? zeros : MAX_ZEROS;
  const steps = Math.floor(Math.min(zeros, most) / 3);
  const mantissa = digits.slice(0, digits.length - steps * 3);
  const exponent = steps * 3 - 9;
  if (format === 'decimalExponent') return exponent === 0 ? `${mantissa}` : `${mantissa}e${exponent}`;
  return `${mantissa}${DECIMAL[exponent / 3 + 3] ?? ''}`;
}

function abs(value: bigint): bigint {
  return value < 0n ? -value : value;
}

/** Negative, zero or positive, as `a` is less than, equal to or more than `b`. */
export function compareQuantity(a: Quantity, b: Quantity): number {
  return a.nano < b.nano ? -1 : a.nano > b.nano ? 1 : 0;
}

/** The sum, in the format of `a` (of `b` when `a` is zero). */
export function addQuantity(a: Quantity, b: Quantity): Quantity {
  return writable({ nano: a.nano + b.nano, format: a.nano === 0n ? b.format : a.format }, a, b);
}

/** The difference, in the format of `a` (of `b` when `a` is zero). */
export function subtractQuantity(a: Quantity, b: Quantity): Quantity {
  return writable({ nano: a.nano - b.nano, format: a.nano === 0n ? b.format : a.format }, a, b);
}

/** A result with too many digits could not be parsed again; then the larger operand is returned instead. */
function writable(result: Quantity, a: Quantity, b: Quantity): Quantity {
  if (abs(result.nano) < MAX_DIGITS_NANO) return result;
  const [digits = ''] = /\d+/.exec(formatQuantity(result)) ?? [];
  if (digits.length <= MAX_DIGITS) return result;
  return abs(a.nano) >= abs(b.nano) ? a : b;
}

/** The value in whole units, rounded away from zero. */
export function quantityValue(text: string): number {
  return Number(divideUp(parseQuantity(text).nano, NANO));
}

/** The value in thousandths (millicores for CPU), rounded away from zero. */
export function quantityMilli(text: string): number {
  return Number(divideUp(parseQuantity(text).nano, 1_000_000n));
}

/** The canonical text of a quantity that is a JSON string or number; throws QuantityError. */
export function canonicalQuantity(value: string | number): string {
  return formatQuantity(parseQuantity(String(value).trim()));
}

/** A count, or a percentage of `total` (`"25%"`), rounded up or down to an integer. Throws StatusError BadRequest for other texts. */
export function resolveIntOrPercent(value: number | string, total: number, round: 'up' | 'down'): number {
  if (typeof value === 'number') return value;
  const percent = /^([+-]?\d+)%$/.exec(value)?.[1];
  if (percent === undefined)
    throw StatusError.badRequest(
      `invalid value for IntOrString: invalid type: string is not a percentage: ${JSON.stringify(value)}`,
    );
  const exact = (Number(percent) * total) / 100;
  return round === 'up' ? Math.ceil(exact) : Math.floor(exact);
}
