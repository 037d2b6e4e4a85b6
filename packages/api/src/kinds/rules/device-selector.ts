import {
  createEnvironment,
  declaredBool,
  type DeclaredType,
  declaredDyn,
  declaredMap,
  declaredObject,
  declaredString,
  declareFunction,
  equalValues,
  formatType,
  CelList,
  structOf,
} from '@gantry/cel';
import { type FieldError, forbidden, invalid, required, tooLong } from '../../field-error.ts';
import type { DeviceSelector } from '../../generated/types.ts';
import { validateEach } from './sized.ts';

const MAX_SELECTORS = 32;
const MAX_EXPRESSION_BYTES = 10 * 1024;

/** Rules on the expressions that choose devices. */
export function validateSelectors(selectors: readonly DeviceSelector[] | undefined, path: string): FieldError[] {
  return validateEach(selectors, MAX_SELECTORS, path, ({ cel }, at) =>
    cel === undefined ? [required(`${at}.cel`)] : validateExpression(cel.expression ?? '', `${at}.cel.expression`),
  );
}

const MAX_COST = 1_000_000;
const MAX_ATTRIBUTES = 32;

const text = (maxElements: number): DeclaredType => ({ ...declaredString, maxElements });
const attribute: DeclaredType = { ...declaredDyn, maxElements: 64 };
const amount: DeclaredType = { type: structOf('kubernetes.Quantity'), maxElements: 0, minSerializedSize: 8 };
const byDomain = (value: DeclaredType) => declaredMap(declaredMap(value, MAX_ATTRIBUTES), MAX_ATTRIBUTES);

/** What expressions may ask of a device. */
const DEVICES = createEnvironment({
  variables: {
    device: declaredObject(
      'kubernetes.DRADevice',
      new Map([
        ['driver', text(63)],
        ['attributes', byDomain(attribute)],
        ['capacity', byDomain(amount)],
        ['allowMultipleAllocations', declaredBool],
      ]),
    ),
  },
  functions: [
    declareFunction('includes', [
      'dra_includes_dyn_dyn',
      'dyn.(dyn) -> bool',
      (held, wanted) =>
        held instanceof CelList ? [...held].some((one) => equalValues(one, wanted)) : equalValues(held, wanted),
    ]),
  ],
});

function validateExpression(expression: string, path: string): FieldError[] {
  if (Buffer.byteLength(expression) > MAX_EXPRESSION_BYTES) return [tooLong(path, MAX_EXPRESSION_BYTES)];
  const compiled = DEVICES.compile(expression);
  if (!compiled.ok) return [invalid(path, expression, `${compiled.stage} failed: ${compiled.issues}`)];
  const { resultType, estimatedCost } = compiled.program;
  if (resultType.kind !== 'bool' && resultType.kind !== 'dyn') {
    return [invalid(path, expression, `must evaluate to bool or the unknown type, not ${formatType(resultType)}`)];
  }
  return estimatedCost.max > MAX_COST ? [forbidden(path, 'too complex, exceeds cost limit')] : [];
}
