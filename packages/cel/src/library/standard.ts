import { declareFunction as declare, type FunctionDeclaration } from '../environment/function-declaration.ts';
import { codePoints } from '../cost/runtime-cost.ts';
import { add, divide, modulo, multiply, negate, subtract } from '../values/arithmetic.ts';
import { compareValues, equalValues, NO_SUCH_OVERLOAD } from '../values/compare.ts';
import { toBool, toBytes, toDouble, toDuration, toInt, toText, toTimestamp, toUint } from '../values/convert.ts';
import { typeNameOfValue } from '../values/type-name.ts';
import { CelList, CelMap, type CelResult, CelTypeValue, type CelValue, isError } from '../values/value.ts';
import { accessIndex } from '../evaluate/access.ts';
import { matchesPattern } from '../patterns/patterns.ts';

type Row = readonly [id: string, signature: string];

/** One implementation for all signatures; it distinguishes the types itself. */
function operator(name: string, call: (...args: CelValue[]) => CelResult, rows: readonly Row[]): FunctionDeclaration {
  return declare(name, ...rows.map(([id, signature]) => [id, signature, call] as const));
}

const NAMES: Readonly<Record<string, string>> = { int: 'int64', uint: 'uint64' };
const nameOf = (type: string) => NAMES[type] ?? type;

/** Signatures of an operator over two values of each type. */
const same = (verb: string, types: readonly string[]): readonly Row[] =>
  types.map((type) => [`${verb}_${nameOf(type)}`, `(${type}, ${type}) -> ${type}`]);

const NUMBERS = ['int', 'uint', 'double'];
const ORDERED = ['bool', 'int', 'uint', 'double', 'string', 'bytes', 'timestamp', 'duration'];

function ordering(name: string, verb: string, holds: (order: number) => boolean): FunctionDeclaration {
  const rows: Row[] = ORDERED.map((type) => [`${verb}_${nameOf(type)}`, `(${type}, ${type}) -> bool`]);
  for (const left of NUMBERS) {
    for (const right of NUMBERS) {
      if (left !== right) rows.push([`${verb}_${nameOf(left)}_${nameOf(right)}`, `(${left}, ${right}) -> bool`]);
    }
  }
  return operator(
    name,
    (left = null, right = null) => {
      const order = compareValues(left, right);
      return isError(order) ? order : holds(order);
    },
    rows,
  );
}

function contains(element: CelValue, container: CelValue): CelResult {
  if (container instanceof CelList) {
    for (const held of container) if (equalValues(element, held)) return true;
    return false;
  }
  return container instanceof CelMap ? container.get(element) !== undefined : NO_SUCH_OVERLOAD;
}

function size(value: CelValue): CelResult {
  if (typeof value === 'string') return BigInt(codePoints(value));
  if (value instanceof Uint8Array) return BigInt(value.length);
  return value instanceof CelList || value instanceof CelMap ? BigInt(value.size) : NO_SUCH_OVERLOAD;
}

const conversions: readonly FunctionDeclaration[] = (
  [
    ['bool', toBool, ['bool', 'string']],
    ['bytes', toBytes, ['bytes', 'string']],
    ['double', toDouble, ['double', 'int', 'string', 'uint']],
    ['duration', toDuration, ['duration', 'int', 'string']],
    ['int', toInt, ['int', 'double', 'duration', 'string', 'timestamp', 'uint']],
    ['string', toText, ['string', 'bool', 'bytes', 'double', 'duration', 'int', 'timestamp', 'uint']],
    ['timestamp', toTimestamp, ['timestamp', 'int', 'string']],
    ['uint', toUint, ['uint', 'double', 'int', 'string']],
  ] as const
).map(([name, call, from]) =>
  operator(
    name,
    (value = null) => call(value),
    from.map((type): Row => [`${nameOf(type)}_to_${nameOf(name)}`, `(${type}) -> ${name}`]),
  ),
);

const text = (call: (text: string, argument: string) => CelResult) => (left: CelValue, right: CelValue) =>
  call(left as string, right as string);

const unreachable = () => NO_SUCH_OVERLOAD;

/** The operators and functions of the language itself. */
export const STANDARD: readonly FunctionDeclaration[] = [
  declare('_?_:_', ['conditional', '(bool, A, A) -> A', unreachable]),
  declare('_&&_', ['logical_and', '(bool, bool) -> bool', unreachable]),
  declare('_||_', ['logical_or', '(bool, bool) -> bool', unreachable]),
  declare('!_', ['logical_not', '(bool) -> bool', (value) => !value]),
  declare('@not_strictly_false', ['not_strictly_false', '(bool) -> bool', (value) => value !== false]),
  declare('_==_', ['equals', '(A, A) -> bool', (left, right) => equalValues(left, right)]),
  declare('_!=_', ['not_equals', '(A, A) -> bool', (left, right) => !equalValues(left, right)]),
  operator('_+_', (left = null, right = null) => add(left, right), [
    ...same('add', ['bytes', 'double']),
    ['add_duration_duration', '(duration, duration) -> duration'],
    ['add_duration_timestamp', '(duration, timestamp) -> timestamp'],
    ['add_timestamp_duration', '(timestamp, duration) -> timestamp'],
    ...same('add', ['int']),
    ['add_list', '(list(A), list(A)) -> list(A)'],
    ...same('add', ['string', 'uint']),
  ]),
  operator('_-_', (left = null, right = null) => subtract(left, right), [
    ...same('subtract', ['double']),
    ['subtract_duration_duration', '(duration, duration) -> duration'],
    ...same('subtract', ['int']),
    ['subtract_timestamp_duration', '(timestamp, duration) -> timestamp'],
    ['subtract_timestamp_timestamp', '(timestamp, timestamp) -> duration'],
    ...same('subtract', ['uint']),
  ]),
  operator('_*_', (left = null, right = null) => multiply(left, right), same('multiply', ['double', 'int', 'uint'])),
  operator('_/_', (left = null, right = null) => divide(left, right), same('divide', ['double', 'int', 'uint'])),
  operator('_%_', (left = null, right = null) => modulo(left, right), same('modulo', ['int', 'uint'])),
  operator('-_', (value = null) => negate(value), [
    ['negate_double', '(double) -> double'],
    ['negate_int64', '(int) -> int'],
  ]),
  ordering('_<_', 'less', (order) => order < 0),
  ordering('_<=_', 'less_equals', (order) => order <= 0),
  ordering('_>_', 'greater', (order) => order > 0),
  ordering('_>=_', 'greater_equals', (order) => order >= 0),
  operator('@in', (element = null, container = null) => contains(element, container), [
    ['in_list', '(A, list(A)) -> bool'],
    ['in_map', '(A, map(A, B)) -> bool'],
  ]),
  operator('_[_]', (container = null, key = null) => accessIndex(container, key), [
    ['index_list', '(list(A), int) -> A'],
    ['index_map', '(map(A, B), A) -> B'],
    ['optional_list_index_int', '(optional(list(V)), int) -> optional(V)'],
    ['optional_map_index_value', '(optional(map(K, V)), K) -> optional(V)'],
  ]),
  operator('size', (value = null) => size(value), [
    ['size_bytes', '(bytes) -> int'],
    ['bytes_size', 'bytes.() -> int'],
    ['size_list', '(list(A)) -> int'],
    ['list_size', 'list(A).() -> int'],
    ['size_map', '(map(A, B)) -> int'],
    ['map_size', 'map(A, B).() -> int'],
    ['size_string', '(string) -> int'],
    ['string_size', 'string.() -> int'],
  ]),
  declare('type', ['type', '(A) -> type(A)', (value) => new CelTypeValue(typeNameOfValue(value))]),
  declare('dyn', ['to_dyn', '(A) -> dyn', (value) => value]),
  ...conversions,
  declare('contains', ['contains_string', 'string.(string) -> bool', text((whole, part) => whole.includes(part))]),
  declare('startsWith', [
    'starts_with_string',
    'string.(string) -> bool',
    text((whole, part) => whole.startsWith(part)),
  ]),
  declare('endsWith', ['ends_with_string', 'string.(string) -> bool', text((whole, part) => whole.endsWith(part))]),
  declare(
    'matches',
    ['matches', '(string, string) -> bool', text(matchesPattern)],
    ['matches_string', 'string.(string) -> bool', text(matchesPattern)],
  ),
];
