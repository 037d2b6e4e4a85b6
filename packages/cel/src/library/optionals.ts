import { declareFunction as declare, type FunctionDeclaration } from '../environment/function-declaration.ts';
import { ArrayList } from '../values/collections.ts';
import { numeric } from '../values/compare.ts';
import { CelDuration, CelError, CelList, CelMap, CelOptional, type CelResult, type CelValue } from '../values/value.ts';

const NONE = new CelOptional(undefined);

function isZero(value: CelValue): boolean {
  if (value === null || value === false || value === '') return true;
  const number = numeric(value);
  if (number !== undefined) return Number(number) === 0;
  if (value instanceof CelList || value instanceof CelMap) return value.size === 0;
  if (value instanceof Uint8Array) return value.length === 0;
  if (value instanceof CelDuration) return value.nanoseconds === 0n;
  return value instanceof CelOptional && value.value === undefined;
}

const optional = (call: (held: CelValue | undefined, argument: CelValue) => CelResult) => {
  return (value: CelValue, argument: CelValue = null) =>
    call(value instanceof CelOptional ? value.value : undefined, argument);
};

function unwrap(list: CelValue): CelResult {
  if (!(list instanceof CelList)) return new CelError('no such overload');
  const held: CelValue[] = [];
  for (const element of list) {
    if (!(element instanceof CelOptional)) return new CelError('value is not optional');
    if (element.value !== undefined) held.push(element.value);
  }
  return new ArrayList(held);
}

const indexed = () => new CelError('no such overload');

/** The functions of optional values. */
export const OPTIONALS: readonly FunctionDeclaration[] = [
  declare('optional.of', ['optional_of', '(V) -> optional(V)', (value) => new CelOptional(value)]),
  declare('optional.ofNonZeroValue', [
    'optional_ofNonZeroValue',
    '(V) -> optional(V)',
    (value) => (isZero(value) ? NONE : new CelOptional(value)),
  ]),
  declare('optional.none', ['optional_none', '() -> optional(V)', () => NONE]),
  declare('optional.unwrap', ['optional_unwrap', '(list(optional(V))) -> list(V)', unwrap]),
  declare('unwrapOpt', ['optional_unwrapOpt', 'list(optional(V)).() -> list(V)', unwrap]),
  declare('value', [
    'optional_value',
    'optional(V).() -> V',
    optional((held) => (held === undefined ? new CelError('optional.none() dereference') : held)),
  ]),
  declare('hasValue', ['optional_hasValue', 'optional(V).() -> bool', optional((held) => held !== undefined)]),
  declare('or', [
    'optional_or_optional',
    'optional(V).(optional(V)) -> optional(V)',
    optional((held, other) => (held === undefined ? other : new CelOptional(held))),
  ]),
  declare('orValue', [
    'optional_orValue_value',
    'optional(V).(V) -> V',
    optional((held, other) => (held === undefined ? other : held)),
  ]),
  declare('_?._', ['select_optional_field', '(dyn, string) -> optional(V)', indexed]),
  declare(
    '_[?_]',
    ['list_optindex_optional_int', '(list(V), int) -> optional(V)', indexed],
    ['optional_list_optindex_optional_int', '(optional(list(V)), int) -> optional(V)', indexed],
    ['map_optindex_optional_value', '(map(K, V), K) -> optional(V)', indexed],
    ['optional_map_optindex_optional_value', '(optional(map(K, V)), K) -> optional(V)', indexed],
  ),
];
