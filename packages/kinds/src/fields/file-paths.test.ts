import { expect, it } from 'vitest';
import { validateUnreservedPath } from './file-paths.ts';

it('keeps two dots at the beginning of files for writers', () => {
  expect(validateUnreservedPath('..', 'p').map(({ detail }) => detail)).toEqual([
    "must not contain '..'",
    "must not start with '..'",
  ]);
  expect(validateUnreservedPath('../a', 'p').map(({ detail }) => detail)).toEqual(["must not contain '..'"]);
  expect(validateUnreservedPath('..a', 'p').map(({ detail }) => detail)).toEqual(["must not start with '..'"]);
});
