import type { ManagedFieldsEntry } from '@gantry/objects';
import { FieldSet, type FieldsV1 } from './field-set.ts';

/** One entry of managedFields, with its fields as a set. */
export interface Manager {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly subresource: string;
  readonly time: string | undefined;
  readonly fields: FieldSet;
  /** The entry that was read. It is written again unchanged while the fields are the same. */
  readonly read?: { readonly entry: ManagedFieldsEntry; readonly fields: FieldSet };
}

/** All managers by `identify`. */
export type Managers = ReadonlyMap<string, Manager>;

/** The identity of an entry. For an apply, the version is not part of it. Identities sort in Kubernetes' order. */
export function identify(of: Pick<Manager, 'manager' | 'operation' | 'apiVersion' | 'subresource'>): string {
  return JSON.stringify({
    manager: of.manager || undefined,
    operation: of.operation,
    ...(of.operation === 'Apply' || of.apiVersion === '' ? {} : { apiVersion: of.apiVersion }),
    subresource: of.subresource || undefined,
  });
}

/** Caches parsed entries: stored objects are shared, and so are entries that a write does not change. */
const readBefore = new WeakMap<ManagedFieldsEntry, Manager>();

/** Reads entries that this package wrote. */
export function readManagers(entries: readonly ManagedFieldsEntry[]): Managers {
  const out = new Map<string, Manager>();
  for (const entry of entries) {
    let manager = readBefore.get(entry);
    if (manager === undefined) {
      manager = read(entry, FieldSet.fromJson((entry.fieldsV1 ?? {}) as FieldsV1));
      readBefore.set(entry, manager);
    }
    out.set(identify(manager), manager);
  }
  return out;
}

/** Reads the managedFields of a stored or received object. Throws Error for an invalid entry. */
export function parseManagers(entries: readonly ManagedFieldsEntry[]): Managers {
  const out = new Map<string, Manager>();
  for (const [index, entry] of entries.entries()) {
    const problem = findProblem(entry, index);
    if (problem !== undefined) throw new SyntaxError(problem);
    const manager = read(entry, FieldSet.parse(entry.fieldsV1 ?? {}));
    out.set(identify(manager), { ...manager });
  }
  return out;
}

/** Kubernetes' message about invalid managedFields in a request; undefined when they are valid. */
export function findManagedFieldsProblem(entries: readonly ManagedFieldsEntry[]): string | undefined {
  try {
    parseManagers(entries);
    return undefined;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return error.message;
    throw error;
  }
}

function findProblem({ operation, apiVersion, fieldsType }: ManagedFieldsEntry, index: number): string | undefined {
  if (operation !== 'Apply' && operation !== 'Update') return 'operation must be `Apply` or `Update`';
  if ((apiVersion ?? '') === '') return 'apiVersion must not be empty';
  if ((fieldsType ?? '') === '') return `missing fieldsType in managed fields entry ${index}`;
  if (fieldsType === 'FieldsV1') return undefined;
  return `invalid fieldsType ${JSON.stringify(fieldsType)} in managed fields entry ${index}`;
}

function read(entry: ManagedFieldsEntry, fields: FieldSet): Manager {
  return {
    manager: entry.manager ?? '',
    operation: entry.operation === 'Apply' ? 'Apply' : 'Update',
    apiVersion: entry.apiVersion ?? '',
    subresource: entry.subresource ?? '',
    time: entry.time,
    fields,
    read: { entry, fields },
  };
}

/** The entries of all managers that own fields, in Kubernetes' order. */
export function writeManagers(managers: Iterable<Manager>): ManagedFieldsEntry[] {
  const out: ManagedFieldsEntry[] = [];
  for (const manager of managers) if (!manager.fields.empty) out.push(write(manager));
  return out.sort(compareEntries);
}

function write(of: Manager): ManagedFieldsEntry {
  const { manager, operation, apiVersion, subresource, time, fields, read: source } = of;
  if (source !== undefined && source.fields === fields && source.entry.time === time) return source.entry;
  return {
    manager: manager || undefined,
    operation,
    apiVersion,
    time,
    fieldsType: 'FieldsV1',
    fieldsV1: fields.toJson(),
    subresource: subresource || undefined,
  };
}

const SORTED_BY = ['operation', 'time', 'manager', 'apiVersion', 'subresource'] as const;

function compareEntries(a: ManagedFieldsEntry, b: ManagedFieldsEntry): number {
  for (const key of SORTED_BY) {
    const left = a[key] ?? '';
    const right = b[key] ?? '';
    if (left !== right) return left < right ? -1 : 1;
  }
  return 0;
}
