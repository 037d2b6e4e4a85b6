import { type CelResult, type CelValue } from '../values/value.ts';
import { type CelType } from '../types.ts';
import { parseSignature } from './signature.ts';

/** The implementation of an overload. Arguments are never errors. The first argument of a member function is the receiver. */
export type Call = (...args: CelValue[]) => CelResult;

/** One signature of a function. */
export interface Overload {
  readonly id: string;
  /** Called as `receiver.name(...)`: the first argument is the receiver. */
  readonly member: boolean;
  readonly args: readonly CelType[];
  readonly result: CelType;
  readonly call: Call;
}

/** A named function with all of its signatures. */
export interface FunctionDeclaration {
  readonly name: string;
  readonly overloads: readonly Overload[];
}

/**
 * Declares a function. A signature reads `(string, list(A)) -> A`, or `string.(int) -> string` for a member. A single capital
 * letter stands for any type, the same one throughout the signature.
 */
export function declareFunction(
  name: string,
  ...overloads: readonly (readonly [id: string, signature: string, call: Call])[]
): FunctionDeclaration {
  return {
    name,
    overloads: overloads.map(([id, signature, call]) => ({ id, ...parseSignature(signature), call })),
  };
}
