import { expect, it } from 'vitest';
import { formatFieldError } from '@gantry/objects';
import { validateSecurityContext } from './security-context.ts';

it.each([
  ['Default', undefined, []],
  ['Default', true, []],
  ['Unmasked', false, []],
  ['Unmasked', undefined, ['p.procMount Invalid value: "Unmasked": `hostUsers` must be false to use `Unmasked`']],
  ['Unmasked', true, ['p.procMount Invalid value: "Unmasked": `hostUsers` must be false to use `Unmasked`']],
  ['Masked', true, ['p.procMount Unsupported value: "Masked": supported values: "Default", "Unmasked"']],
] as const)('a container has /proc %s where hostUsers is %s, or the reason why not', (procMount, hostUsers, errors) => {
  const pod = hostUsers === undefined ? {} : { hostUsers };
  const found = validateSecurityContext({ procMount }, pod, 'p').map(
    (error) => `${error.field} ${formatFieldError(error)}`,
  );
  expect(found).toEqual(errors);
});
