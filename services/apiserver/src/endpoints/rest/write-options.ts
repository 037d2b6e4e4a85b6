import { append } from '@gantry/base';
import { type FieldError, StatusError, forbidden, invalid, notSupported, tooLong } from '@gantry/objects';
import { parseBoolean } from '../../http/query.ts';
import type { WriteOptions } from '../../registry/index.ts';

const MANAGER_MAX = 128;

/** Parses and validates the options of a create, update or patch. `patchType` is '' for create and update. */
export function parseWriteOptions(
  query: URLSearchParams,
  kind: 'CreateOptions' | 'UpdateOptions' | 'PatchOptions',
  userAgent: string | undefined,
  patchType = '',
): WriteOptions {
  const manager = query.get('fieldManager') ?? '';
  const dryRun = query.getAll('dryRun');
  const validation = query.get('fieldValidation') ?? '';
  const errors: FieldError[] = [];
  const apply = patchType === 'application/apply-patch+yaml';
  if (kind === 'PatchOptions') {
    if (apply && manager === '') {
      errors.push({ type: 'FieldValueRequired', field: 'fieldManager', detail: 'is required for apply patch' });
    }
    if (!apply && query.has('force')) errors.push(forbidden('force', 'may not be specified for non-apply patch'));
  }
  append(errors, [...managerErrors(manager), ...dryRunErrors(dryRun), ...validationErrors(validation)]);
  if (errors.length > 0) throw StatusError.invalid('meta.k8s.io', kind, '', errors);
  return {
    dryRun: dryRun.length > 0,
    fieldManager: manager === '' ? managerOfUserAgent(userAgent) : manager,
    fieldValidation: validation === 'Strict' || validation === 'Ignore' ? validation : 'Warn',
    sent: {
      ...(manager === '' ? {} : { fieldManager: manager }),
      ...(validation === '' ? {} : { fieldValidation: validation }),
    },
    ...(apply ? { force: parseBoolean(query, 'force') ?? false } : {}),
  };
}

/** Field managers by User-Agent. A cache, since clients send the same User-Agent with each request. */
const managers = new Map<string, string>();
const MAX_MANAGERS = 1000;
const MAX_KNOWN_AGENT = 256;

/** Printable characters before the first '/' of the User-Agent, at most 128 bytes; "unknown" when there are none. */
export function managerOfUserAgent(userAgent = ''): string {
  const known = managers.get(userAgent);
  if (known !== undefined) return known;
  const manager = readManager(userAgent);
  if (userAgent.length > MAX_KNOWN_AGENT) return manager;
  if (managers.size >= MAX_MANAGERS) managers.clear();
  managers.set(userAgent, manager);
  return manager;
}

function readManager(userAgent: string): string {
  let manager = '';
  for (const character of userAgent.split('/')[0] ?? '') {
    if (!isPrintable(character)) continue;
    if (Buffer.byteLength(manager + character) > MANAGER_MAX) break;
    manager += character;
  }
  return manager === '' ? 'unknown' : manager;
}

function managerErrors(manager: string): readonly FieldError[] {
  const errors: FieldError[] = [];
  if (Buffer.byteLength(manager) > MANAGER_MAX) errors.push(tooLong('fieldManager', MANAGER_MAX));
  let position = 0;
  for (const character of manager) {
    if (!isPrintable(character)) {
      const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
      errors.push(invalid('fieldManager', manager, `invalid character U+${code} (at position ${position})`));
    }
    position += Buffer.byteLength(character);
  }
  return errors;
}

function validationErrors(validation: string): readonly FieldError[] {
  const known = ['', 'Ignore', 'Strict', 'Warn'];
  return known.includes(validation) ? [] : [notSupported('fieldValidation', validation, known)];
}

function isPrintable(character: string): boolean {
  return character === ' ' || /^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u.test(character);
}

/** The errors of `dryRun`. Its only valid value is "All". */
export function dryRunErrors(dryRun: readonly string[]): readonly FieldError[] {
  return dryRun.every((value) => value === 'All') ? [] : [notSupported('dryRun', dryRun, ['All'])];
}
