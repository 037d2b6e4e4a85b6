import {
  BOOL,
  createEnvironment,
  declaredBool,
  declaredDyn,
  declaredMap,
  declaredObject,
  declaredString,
  type DeclaredType,
  DYN,
  formatType,
  sameType,
  structOf,
} from '@gantry/cel';
import { type DeviceSelector, type FieldError, forbidden, invalid, required, tooLong } from '@gantry/objects';
import { validateEach } from '../fields/bounded-lists.ts';

const MAX_SELECTORS = 32;
const MAX_EXPRESSION_BYTES = 10 * 1024;
const MAX_COST = 1_000_000;

/** The maximum number of attributes and capacities of a device. */
const MAX_NAMED = 32;
const MAX_DRIVER_LENGTH = 63;
const MAX_VALUE_LENGTH = 64;

const sized = (type: DeclaredType, maxElements: number): DeclaredType => ({ ...type, maxElements });
const quantity: DeclaredType = { type: structOf('kubernetes.Quantity'), maxElements: 0, minSerializedSize: 3 };
const byDomain = (value: DeclaredType) => declaredMap(declaredMap(value, MAX_NAMED), MAX_NAMED);

const DEVICES = createEnvironment({
  variables: {
    device: declaredObject(
      'kubernetes.DRADevice',
      new Map([
        ['driver', sized(declaredString, MAX_DRIVER_LENGTH)],
        ['allowMultipleAllocations', sized(declaredBool, 1)],
        ['attributes', byDomain(sized(declaredDyn, MAX_VALUE_LENGTH))],
        ['capacity', byDomain(quantity)],
      ]),
    ),
  },
});

/** Checks the expressions that select devices. */
export function validateSelectors(selectors: readonly DeviceSelector[] | undefined, path: string): FieldError[] {
  return validateEach(selectors, MAX_SELECTORS, path, ({ cel }, at) =>
    cel === undefined ? [required(`${at}.cel`)] : validateExpression(cel.expression ?? '', `${at}.cel.expression`),
  );
}

function validateExpression(expression: string, path: string): FieldError[] {
  // An expression that is too long is not compiled.
  if (Buffer.byteLength(expression) > MAX_EXPRESSION_BYTES) return [tooLong(path, MAX_EXPRESSION_BYTES)];
  const compiled = DEVICES.compile(expression);
  if (!compiled.ok) return [invalid(path, expression, `${compiled.stage} failed: ${compiled.issues}`)];
  const { resultType, estimatedCost } = compiled.program;
  // The type of an attribute is known only at evaluation.
  if (!sameType(resultType, BOOL) && !sameType(resultType, DYN)) {
    return [invalid(path, expression, `must evaluate to bool or the unknown type, not ${formatType(resultType)}`)];
  }
  return estimatedCost.max > MAX_COST ? [forbidden(path, 'too complex, exceeds cost limit')] : [];
}
