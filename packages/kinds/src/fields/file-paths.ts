import { type FieldError, invalid } from '@gantry/objects';

export const FILE_MODE = 'must be a number between 0 and 0777 (octal), both inclusive';

export function validateFileMode(mode: number | undefined, path: string): FieldError[] {
  return mode !== undefined && (mode < 0 || mode > 0o777) ? [invalid(path, mode, FILE_MODE)] : [];
}

export function validateNoBacksteps(text: string, path: string): FieldError[] {
  return text.split('/').includes('..') ? [invalid(path, text, "must not contain '..'")] : [];
}

/** Checks a relative path without `..` steps. */
export function validateDescendingPath(text: string, path: string): FieldError[] {
  const absolute = text.startsWith('/') ? [invalid(path, text, 'must be a relative path')] : [];
  return [...absolute, ...validateNoBacksteps(text, path)];
}

/** As `validateDescendingPath`; the path must also not start with `..`, which atomic writers use. */
export function validateUnreservedPath(text: string, path: string): FieldError[] {
  const errors = validateDescendingPath(text, path);
  if (text.startsWith('..') && !text.startsWith('../')) {
    errors.push(invalid(path, text, "must not start with '..'"));
  }
  return errors;
}
