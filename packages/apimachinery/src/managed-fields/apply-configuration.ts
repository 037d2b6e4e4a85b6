import { formatTime, type Instant } from '@gantry/base';
import { DecodeError, decodeStruct } from '../values/decode-value.ts';
import type { ParsedObject } from '../values/json-parser.ts';
import { normaliseShape } from '../values/normalise-shape.ts';
import {
  apiVersionOf,
  cloneJson,
  equalJson,
  type JsonObject,
  type KubeObject,
  type ManagedFieldsEntry,
  parseApiVersion,
  StatusError,
} from '@gantry/objects';
import { changeOwners, type Conflict, knownManagers, ownable } from './change-owners.ts';
import { findMisfits } from './check-values.ts';
import type { FieldSet } from './field-set.ts';
import { fieldsLastApplied, KUBECTL, refreshLastApplied } from './last-applied.ts';
import { emptyObject, type ManagedKind, typeOf, withoutManagedFields } from './managed-kind.ts';
import { identify, type Manager, type Managers, readManagers, writeManagers } from './managers.ts';
import { mergeValues } from './merge-values.ts';
import { pruneApplied } from './prune.ts';
import { isJsonMap, KeylessItem } from './shape.ts';
import { toFieldSet } from './to-field-set.ts';
import { recordUpdate } from './update-managed-fields.ts';
import { formatFieldPath } from './path-element.ts';

export interface ApplyInput {
  readonly of: ManagedKind;
  /** The stored object in normalised shape; undefined if there is none. */
  readonly live: KubeObject | undefined;
  readonly config: JsonObject;
  readonly manager: string;
  /** Whether to take over fields of other managers instead of reporting a conflict. */
  readonly force: boolean;
  readonly now: Instant;
}

/** The manager of fields that were set before the first apply, when none was recorded. */
const BEFORE_FIRST_APPLY = 'before-first-apply';

/** The result of an apply, and the conflicts with other managers. */
interface Outcome {
  readonly object: KubeObject;
  readonly managers: Managers;
  readonly conflicts: readonly Conflict[];
}

/**
 * The object after a server-side apply, including managedFields. Removes fields that the applier no longer applies and that have no other
 * owner. Normalised, without defaults. Does not change `live`. Throws StatusError BadRequest for an invalid configuration, or Conflict.
 */
export function applyConfiguration(input: ApplyInput): KubeObject {
  const { of, config } = input;
  requireKind(of, config);
  try {
    const outcome = attempt(input);
    return withManagers(input, settleConflicts(input, outcome));
  } catch (error) {
    if (error instanceof KeylessItem)
      throw StatusError.badRequest(`failed to apply ${describe(input)}: ${error.message}`);
    throw error;
  }
}

function requireKind(of: ManagedKind, config: JsonObject): void {
  const { apiVersion, kind } = config;
  const sent = typeof kind === 'string' ? kind : '';
  const { group, version } = parseApiVersion(typeof apiVersion === 'string' ? apiVersion : '');
  if (group === of.group && version === of.version && sent === of.kind) return;
  throw StatusError.badRequest(`invalid object type: ${group}/${version}, Kind=${sent}`);
}

function attempt(input: ApplyInput): Outcome {
  const { of, config, now } = input;
  const live = input.live === undefined ? emptyObject(of.schema) : withoutManagedFields(input.live);
  let starting = readManagers(input.live?.metadata.managedFields ?? []);
  if (starting.size === 0) {
    const change = { before: emptyObject(of.schema), after: live };
    starting = recordUpdate(of, change, starting, { manager: BEFORE_FIRST_APPLY, now });
  }
  if (isJsonMap(config['metadata']) && Array.isArray(config['metadata']['managedFields']))
    throw StatusError.badRequest('metadata.managedFields must be nil');
  const type = typeOf(of);
  const misfit = findMisfits(type, config);
  if (misfit !== undefined)
    throw StatusError.badRequest(`failed to create typed patch object (${describe(input)}): ${misfit}`);
  const managers = knownManagers(of, starting);
  const merged = (mergeValues(type, live, config) ?? {}) as KubeObject;
  const self = selfOf(input, of.reset(toFieldSet(type, config)));
  const id = identify(self);
  const last = managers.get(id);
  managers.set(id, { ...self, time: last?.time });
  const object = pruneApplied(of, merged, managers, last);
  const { others, conflicts } = changeOwners(of, { before: live, after: object }, managers, id);
  const fields = ownable(self.fields);
  const changed = !equalJson(live, object);
  const own: Manager = {
    ...self,
    fields: last !== undefined && last.fields.equals(fields) ? last.fields : fields,
    time: changed ? formatTime(now) : last?.time,
    ...(last?.read === undefined || last.apiVersion !== self.apiVersion ? {} : { read: last.read }),
  };
  return {
    object: changed ? decodeMerged(input, object) : cloneJson(live),
    managers: fields.empty ? others : new Map([...others, [id, own]]),
    conflicts,
  };
}

function selfOf({ of, manager }: ApplyInput, fields: FieldSet): Omit<Manager, 'time'> {
  return { manager, operation: 'Apply', apiVersion: apiVersionOf(of), subresource: of.subresource, fields };
}

/** Conflicts are an error, with two exceptions: force, and kubectl taking over fields that it set by client-side apply. */
function settleConflicts(input: ApplyInput, outcome: Outcome): Outcome {
  const { conflicts } = outcome;
  if (conflicts.length === 0 || input.force) return outcome;
  const allowed =
    input.manager === KUBECTL && input.live !== undefined ? fieldsLastApplied(input.of, input.live) : undefined;
  const left = allowed === undefined ? conflicts : conflicts.filter(({ path }) => !allowed.has(path));
  if (left.length > 0) throw applyConflict(left);
  return outcome;
}

function withManagers({ manager, config }: ApplyInput, { object, managers }: Outcome): KubeObject {
  const applied = manager === KUBECTL ? refreshLastApplied(object, config) : object;
  const managedFields: ManagedFieldsEntry[] = writeManagers(managers.values());
  return { ...applied, metadata: { ...applied.metadata, ...(managedFields.length === 0 ? {} : { managedFields }) } };
}

/** The merged object decoded by its type: without nulls, scalars in canonical form. */
function decodeMerged(input: ApplyInput, merged: KubeObject): KubeObject {
  const { of } = input;
  try {
    const type = typeOf(of);
    const sent = merged as ParsedObject;
    const value = type.custom?.readApplied(sent) ?? decodeStruct(type, sent, 'unstructured').value;
    return normaliseShape(value, of.schema) as KubeObject;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw StatusError.badRequest(
      `failed to convert new object (${describe(input)}) to proper version (${apiVersionOf(of)}): ${error.message}`,
    );
  }
}

/** `<namespace>/<name>; <kind>` of the configuration. */
function describe({ of, config }: ApplyInput): string {
  const metadata = isJsonMap(config['metadata']) ? config['metadata'] : {};
  const text = (value: unknown) => (typeof value === 'string' ? value : '');
  const kind = `${of.group}/${of.version}, Kind=${of.kind}`;
  return `${text(metadata['namespace'])}/${text(metadata['name'])}; ${kind}`;
}

/** The Conflict (409) of an apply that would take fields from other managers, with one cause per field. */
function applyConflict(conflicts: readonly Conflict[]): StatusError {
  const causes = conflicts.map(({ manager, path }) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with ${describeManager(manager)}`,
    field: formatFieldPath(path),
  }));
  return new StatusError('Conflict', `Apply failed with ${describeConflicts(conflicts)}`, { details: { causes } });
}

function describeConflicts(conflicts: readonly Conflict[]): string {
  const [first] = conflicts;
  if (conflicts.length === 1 && first !== undefined)
    return `1 conflict: conflict with ${describeManager(first.manager)}: ${formatFieldPath(first.path)}`;
  const lines: string[] = [];
  let last: string | undefined;
  for (const { id, manager, path } of conflicts) {
    if (id !== last) lines.push(`conflicts with ${describeManager(manager)}:`);
    last = id;
    lines.push(`- ${formatFieldPath(path)}`);
  }
  return `${conflicts.length} conflicts: ${lines.join('\n')}`;
}

function describeManager({ manager, operation, apiVersion, subresource }: Manager): string {
  const through = subresource === '' ? '' : ` with subresource ${JSON.stringify(subresource)}`;
  return `${JSON.stringify(manager)}${through}${operation === 'Update' ? ` using ${apiVersion}` : ''}`;
}
