import { append } from '@gantry/base';
import { type FieldError, forbidden, invalid, notSupported, StatusError, tooLong } from '@gantry/api';
import type { DeleteOptions, ListRequest, WatchRequest, WriteOptions } from '../driver.ts';

const MANAGER_MAX = 128;
const INT64_MAX = 9_223_372_036_854_775_807n;

/** What a list or a watch asks, as the query says it; not yet checked. */
export interface ListOptions extends ListRequest {
  readonly watch: boolean;
  readonly allowBookmarks: boolean;
  readonly sendInitialEvents: boolean | undefined;
  readonly timeoutSeconds: number | undefined;
}

/** Reads metav1.ListOptions, with Kubernetes' defaults. */
export function parseListOptions(query: URLSearchParams): ListOptions {
  const match = query.get('resourceVersionMatch') ?? '';
  const limit = parseInt64(query, 'limit') ?? 0;
  const options = withDefaults({
    namespace: '',
    labelSelector: query.get('labelSelector') ?? '',
    fieldSelector: query.get('fieldSelector') ?? '',
    resourceVersion: query.get('resourceVersion') ?? '',
    resourceVersionMatch: match as ListRequest['resourceVersionMatch'],
    limit: Math.max(0, limit),
    continueToken: query.get('continue') ?? '',
    watch: parseBoolean(query, 'watch') ?? false,
    allowBookmarks: parseBoolean(query, 'allowWatchBookmarks') ?? false,
    sendInitialEvents: parseBoolean(query, 'sendInitialEvents'),
    timeoutSeconds: parseInt64(query, 'timeoutSeconds'),
  });
  return { ...options, faults: options.watch ? watchErrors(options) : listErrors(options) };
}

/** A watch that names no version begins with everything that exists, as if it had asked for that. */
function withDefaults(options: ListOptions): ListOptions {
  const { watch, sendInitialEvents, resourceVersion, resourceVersionMatch } = options;
  const unsaid = sendInitialEvents === undefined && resourceVersionMatch === '';
  if (!watch || !unsaid || (resourceVersion !== '' && resourceVersion !== '0')) return options;
  return { ...options, sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' };
}

const MATCH = 'resourceVersionMatch';

/**
 * Where list options contradict each other, in Kubernetes' words. A watch by a path of its own (`/watch/`) whose query does not
 * say so is held to these rules too.
 */
function listErrors(options: ListOptions): readonly FieldError[] {
  const match: string = options.resourceVersionMatch;
  const errors: FieldError[] = [];
  if (match !== '') {
    if (options.resourceVersion === '') {
      errors.push(forbidden(MATCH, 'resourceVersionMatch is forbidden unless resourceVersion is provided'));
    }
    if (options.continueToken !== '') {
      errors.push(forbidden(MATCH, 'resourceVersionMatch is forbidden when continue is provided'));
    }
    if (match !== 'Exact' && match !== 'NotOlderThan') {
      const detail = 'supported values: "Exact", "NotOlderThan", ""';
      errors.push({ type: 'FieldValueNotSupported', field: MATCH, value: match, detail });
    }
    if (match === 'Exact' && options.resourceVersion === '0') {
      errors.push(forbidden(MATCH, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'));
    }
  }
  if (options.sendInitialEvents !== undefined) {
    errors.push(forbidden('sendInitialEvents', 'sendInitialEvents is forbidden for list'));
  }
  return errors;
}

function watchErrors(options: ListOptions): readonly FieldError[] {
  const match: string = options.resourceVersionMatch;
  const errors: FieldError[] = [];
  if (options.sendInitialEvents !== undefined && match !== 'NotOlderThan') {
    errors.push(forbidden(MATCH, 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'));
  }
  if (match === '') return errors;
  if (options.sendInitialEvents === undefined) {
    errors.push(forbidden(MATCH, 'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided'));
  }
  if (match !== 'NotOlderThan') errors.push(notSupported(MATCH, match, ['NotOlderThan']));
  if (options.continueToken !== '') {
    errors.push(forbidden(MATCH, 'resourceVersionMatch is forbidden when continue is provided'));
  }
  return errors;
}

/** The part of list options that a watch uses. */
export function watchRequestOf(options: ListOptions): WatchRequest {
  const { namespace, labelSelector, fieldSelector, resourceVersion, resourceVersionMatch } = options;
  const { sendInitialEvents, allowBookmarks, faults = [] } = options;
  return {
    namespace,
    labelSelector,
    fieldSelector,
    resourceVersion,
    resourceVersionMatch,
    sendInitialEvents,
    allowBookmarks,
    faults,
  };
}

/** Reads and checks the options of a create, update or patch. `patchType` is '' for the first two. */
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

/** What was made of a User-Agent: clients send the same with each request. */
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

function dryRunErrors(dryRun: readonly string[]): readonly FieldError[] {
  return dryRun.every((value) => value === 'All') ? [] : [notSupported('dryRun', dryRun, ['All'])];
}

function validationErrors(validation: string): readonly FieldError[] {
  const known = ['', 'Ignore', 'Strict', 'Warn'];
  return known.includes(validation) ? [] : [notSupported('fieldValidation', validation, known)];
}

function isPrintable(character: string): boolean {
  return character === ' ' || /^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u.test(character);
}

/** What a delete was asked, in the body or in the query, before it is checked. */
export interface RawDeleteOptions {
  readonly gracePeriodSeconds?: number | null;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string } | null;
  readonly propagationPolicy?: string | null;
  readonly orphanDependents?: boolean | null;
  readonly dryRun?: readonly string[] | null;
}

/** DeleteOptions from the query, for requests without a body. */
export function deleteOptionsOfQuery(query: URLSearchParams): RawDeleteOptions {
  const grace = parseInt64(query, 'gracePeriodSeconds');
  const orphan = parseBoolean(query, 'orphanDependents');
  const policy = query.get('propagationPolicy');
  return {
    ...(grace === undefined ? {} : { gracePeriodSeconds: grace }),
    ...(orphan === undefined ? {} : { orphanDependents: orphan }),
    ...(policy === null ? {} : { propagationPolicy: policy }),
    dryRun: query.getAll('dryRun'),
  };
}

const POLICIES = ['Foreground', 'Background', 'Orphan'] as const;

/** Checks DeleteOptions, in Kubernetes' words. */
export function checkDeleteOptions(raw: RawDeleteOptions): { options: DeleteOptions; dryRun: boolean } {
  const errors: FieldError[] = [];
  const policy = raw.propagationPolicy ?? undefined;
  const known = POLICIES.find((p) => p === policy);
  if (raw.orphanDependents != null && policy !== undefined) {
    const detail = 'orphanDependents and deletionPropagation cannot be both set';
    errors.push(invalid('propagationPolicy', policy, detail));
  }
  if (policy !== undefined && known === undefined) {
    const supported = [...POLICIES, 'nil'].map((p) => JSON.stringify(p)).join(', ');
    errors.push({
      type: 'FieldValueNotSupported',
      field: 'propagationPolicy',
      value: policy,
      detail: `supported values: ${supported}`,
    });
  }
  const dryRun = raw.dryRun ?? [];
  append(errors, dryRunErrors(dryRun));
  if (errors.length > 0) throw StatusError.invalid('meta.k8s.io', 'DeleteOptions', '', errors);
  return {
    options: {
      gracePeriodSeconds: raw.gracePeriodSeconds ?? undefined,
      preconditions: raw.preconditions ?? {},
      propagationPolicy: known,
      orphanDependents: raw.orphanDependents ?? undefined,
    },
    dryRun: dryRun.length > 0,
  };
}

/** A whole number of the query; BadRequest in Go's words when it is none. Undefined when absent. */
export function parseInt64(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (!/^[+-]?\d+$/.test(text)) {
    throw StatusError.badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
  }
  const value = BigInt(text.startsWith('+') ? text.slice(1) : text);
  if (value > INT64_MAX || value < -INT64_MAX - 1n) {
    throw StatusError.badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: value out of range`);
  }
  return Number(value);
}

/** Anything but "false" and "0" is true, as Kubernetes reads flags in queries. Undefined when absent. */
export function parseBoolean(query: URLSearchParams, name: string): boolean | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  return text.toLowerCase() !== 'false' && text !== '0';
}
