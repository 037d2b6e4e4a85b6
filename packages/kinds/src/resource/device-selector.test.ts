import { describe, expect, it } from 'vitest';
import { formatFieldError } from '@gantry/objects';
import { validateSelectors } from './device-selector.ts';

const texts = (expression: string) =>
  validateSelectors([{ cel: { expression } }], 's').map((error) => `${error.field}: ${formatFieldError(error)}`);

describe('expressions that choose devices', () => {
  it.each([
    'true',
    'device.driver == "gpu.example.com"',
    'device.attributes["gpu.example.com"].healthy',
    'device.attributes["gpu.example.com"].family == "a" && device.allowMultipleAllocations',
    'device.capacity["gpu.example.com"].memory.compareTo(quantity("10Gi")) >= 0',
    '"memory" in device.capacity["gpu.example.com"]',
  ])('take %s', (expression) => {
    expect(texts(expression)).toEqual([]);
  });

  it.each([
    [
      '-x',
      `s[0].cel.expression: Invalid value: "-x": compilation failed: ERROR: <input>:1:2: undeclared reference to 'x' (in container '')\n | -x\n | .^`,
    ],
    [
      'device.driver',
      's[0].cel.expression: Invalid value: "device.driver": must evaluate to bool or the unknown type, not string',
    ],
    [
      'device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, device.attributes.all(d, a != b && c != d))))',
      's[0].cel.expression: Forbidden: too complex, exceeds cost limit',
    ],
    [' '.repeat(10241), 's[0].cel.expression: Too long: may not be more than 10240 bytes'],
  ])('refuse %s', (expression, text) => {
    expect(texts(expression)).toEqual([text]);
  });

  it('ask for an expression', () => {
    expect(validateSelectors([{}], 's')).toMatchObject([{ field: 's[0].cel', type: 'FieldValueRequired' }]);
    expect(texts('')[0]).toMatch(
      /^s\[0\]\.cel\.expression: Invalid value: "": compilation failed: ERROR: <input>:1:0: Syntax error/,
    );
  });
});
