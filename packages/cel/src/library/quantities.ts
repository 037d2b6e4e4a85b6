import { declareFunction as declare, type FunctionDeclaration } from '../environment/function-declaration.ts';
import { type CelType, structOf } from '../types.ts';
import { CelError, CelOpaque, type CelResult, type CelValue, isError } from '../values/value.ts';

const TYPE = structOf('kubernetes.Quantity');

/** Quantities are kept in billionths, their finest unit. */
const SCALE = 1_000_000_000n;

class QuantityValue extends CelOpaque {
  readonly type: CelType = TYPE;
  readonly nano: bigint;

  constructor(nano: bigint) {
    super();
    this.nano = nano;
  }

  equals(other: CelOpaque): boolean {
    return other instanceof QuantityValue && other.nano === this.nano;
  }
}

const BINARY = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const DECIMAL: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, '': 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };

/** Numbers of any length would take more than linear time. */
const MAX_DIGITS = 128;

function parseQuantity(text: string): QuantityValue | undefined {
  const match = /^([+-]?)(\d+(?:\.\d*)?|\.\d+)(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]|[eE][+-]?\d+)?$/.exec(text);
  if (match === null) return undefined;
  const [, sign, number = '', suffix = ''] = match;
  const [whole = '', fraction = ''] = number.split('.');
  if (number.length > MAX_DIGITS) return undefined;
  const digits = BigInt(`${whole}${fraction}` || '0');
  const binary = BINARY.indexOf(suffix);
  const factor = binary > 0 ? 1024n ** BigInt(binary) : 1n;
  const power = binary >= 0 ? 0 : (DECIMAL[suffix] ?? Number(suffix.slice(1)));
  if (Math.abs(power) > 1_000) return undefined;
  const nano = scaled(digits * factor, power + 9 - fraction.length);
  return new QuantityValue(sign === '-' ? -nano : nano);
}

/** Multiplies by a power of ten and rounds up to a whole unit. */
function scaled(digits: bigint, power: number): bigint {
  if (power >= 0) return digits * 10n ** BigInt(power);
  const divisor = 10n ** BigInt(-power);
  return (digits + divisor - 1n) / divisor;
}

const PATTERN = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

function toQuantity(text: CelValue): CelResult {
  return parseQuantity(text as string) ?? new CelError(PATTERN);
}

const nanoOf = (value: CelValue) => (value instanceof QuantityValue ? value.nano : (value as bigint) * SCALE);
const compare = (left: CelValue, right: CelValue) => {
  const [a, b] = [nanoOf(left), nanoOf(right)];
  if (a === b) return 0n;
  return a < b ? -1n : 1n;
};
const plus = (left: CelValue, right: CelValue) => new QuantityValue(nanoOf(left) + nanoOf(right));
const minus = (left: CelValue, right: CelValue) => new QuantityValue(nanoOf(left) - nanoOf(right));

const isInteger = (value: CelValue) => {
  const nano = nanoOf(value);
  return nano % SCALE === 0n && BigInt.asIntN(64, nano / SCALE) === nano / SCALE;
};

const Q = 'kubernetes.Quantity';

/** The functions of `kubernetes.Quantity`. */
export const QUANTITIES: readonly FunctionDeclaration[] = [
  declare('quantity', ['string_to_quantity', `(string) -> ${Q}`, toQuantity]),
  declare('isQuantity', ['is_quantity_string', '(string) -> bool', (text) => !isError(toQuantity(text))]),
  // Kubernetes declares it as a global function, not a member.
  declare('sign', ['quantity_sign', `(${Q}) -> int`, (value) => compare(value, 0n)]),
  declare('isInteger', ['quantity_is_integer', `${Q}.() -> bool`, isInteger]),
  declare('asInteger', [
    'quantity_get_int',
    `${Q}.() -> int`,
    (value) => (isInteger(value) ? nanoOf(value) / SCALE : new CelError('cannot convert value to integer')),
  ]),
  declare('asApproximateFloat', ['quantity_get_float', `${Q}.() -> double`, (value) => Number(nanoOf(value)) / 1e9]),
  declare('add', ['quantity_add', `${Q}.(${Q}) -> ${Q}`, plus], ['quantity_add_int', `${Q}.(int) -> ${Q}`, plus]),
  declare('sub', ['quantity_sub', `${Q}.(${Q}) -> ${Q}`, minus], ['quantity_sub_int', `${Q}.(int) -> ${Q}`, minus]),
  declare('isLessThan', ['quantity_is_less_than', `${Q}.(${Q}) -> bool`, (left, right) => compare(left, right) < 0n]),
  declare('isGreaterThan', [
    'quantity_is_greater_than',
    `${Q}.(${Q}) -> bool`,
    (left, right) => compare(left, right) > 0n,
  ]),
  declare('compareTo', ['quantity_compare_to', `${Q}.(${Q}) -> int`, compare]),
];
