/**
 * Kubernetes' expression language (CEL): checks and evaluates expressions with Kubernetes' functions, messages and costs.
 *
 * `createEnvironment` declares variables and compiles texts to programs; a program estimates its cost and evaluates values.
 * Parts: `syntax` (lexer, parser, macros) → `check` (types, overloads) → `cost` and `evaluate` (planner). `library` has the functions,
 * `values` and `types.ts` the values and types of expressions; `environment` joins all. Pure: no I/O, no clock.
 *
 * Used by packages/custom-resources (rules of schemas), packages/kinds (device selectors) and the apiserver (admission policies, match
 * conditions of webhooks).
 */
export {
  type DeclaredType,
  declaredBool,
  declaredDouble,
  declaredDyn,
  declaredInt,
  declaredLazily,
  declaredList,
  declaredMap,
  declaredObject,
  declaredString,
  declaredTimestamp,
} from './declared-type.ts';
export type {
  Bindings,
  Environment,
  Evaluation,
  Program,
  Run,
  StructTypes,
} from './environment/environment.ts';
export { Allowance } from './patterns/pattern-size.ts';
export { evaluateInTurns } from './environment/environment.ts';
export { Suspended } from './evaluate/frame.ts';
export { createEnvironment } from './compile/create-environment.ts';
export {
  type FunctionDeclaration,
  type Overload,
} from './environment/function-declaration.ts';
export {
  ESTIMATED_COST_LIMIT,
  ESTIMATED_TOTAL_COST_LIMIT,
  MATCH_CONDITIONS_COST_BUDGET,
  MAX_MESSAGE_BYTES,
  MAX_REQUEST_BYTES,
  RUNTIME_COST_BUDGET,
} from './limits.ts';
export {
  BOOL,
  BYTES,
  type CelType,
  DURATION,
  DYN,
  formatType,
  listOf,
  NULL,
  opaqueOf,
  optionalOf,
  sameType,
  STRING,
  structOf,
  TIMESTAMP,
} from './types.ts';
export {
  CelError,
  CelList,
  CelMap,
  CelOpaque,
  CelOptional,
  type CelResult,
  type CelValue,
  isError,
} from './values/value.ts';
export { valueOfJson } from './values/json-value.ts';
export { jsonOfValue } from './values/to-json.ts';
export { ArrayList, EntryMap } from './values/collections.ts';
export { parseDurationText, parseTimestampText } from './values/timestamp.ts';
export { MAX_MATCH_STEPS, matchSteps, patternOf } from './patterns/patterns.ts';
