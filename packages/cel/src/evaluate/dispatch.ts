import { type Overload } from '../environment/function-declaration.ts';
import { type CelType, typeNameOf } from '../types.ts';
import { typeNameOfValue } from '../values/type-name.ts';
import {
  CelError,
  CelList,
  CelMap,
  CelOptional,
  type CelResult,
  CelTypeValue,
  type CelValue,
} from '../values/value.ts';

/** Whether a value may be an argument of the type. Elements of lists and maps are not checked. */
function fits(value: CelValue, type: CelType): boolean {
  switch (type.kind) {
    case 'dyn':
    case 'parameter':
      return true;
    case 'list':
      return value instanceof CelList;
    case 'map':
      return value instanceof CelMap;
    case 'type':
      return value instanceof CelTypeValue;
    case 'opaque':
      return type.name === 'optional_type' ? value instanceof CelOptional : typeNameOfValue(value) === type.name;
    default:
      return typeNameOfValue(value) === typeNameOf(type);
  }
}

/** The first overload that accepts these arguments. */
export function selectOverload(overloads: readonly Overload[], args: readonly CelValue[]): Overload | undefined {
  return overloads.find(
    (overload) => overload.args.length === args.length && overload.args.every((type, i) => fits(args[i] ?? null, type)),
  );
}

/** Functions whose message does not list the types of the arguments. */
const TERSE = /^(?:[_!-]|@in|(?:startsWith|endsWith|contains|matches)$)/;

export function noSuchOverload(name: string, args: readonly CelValue[]): CelResult {
  if (TERSE.test(name)) return new CelError('no such overload');
  if (name === 'size') return new CelError('no such overload: size');
  return new CelError(`no such overload: ${name}(${args.map(typeNameOfValue).join(', ')})`);
}
