import { type FieldError, required, tooLong } from '../../field-error.ts';
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

function validateExpression(expression: string, path: string): FieldError[] {
  return Buffer.byteLength(expression) > MAX_EXPRESSION_BYTES ? [tooLong(path, MAX_EXPRESSION_BYTES)] : [];
}
