import { append, type InTurns, type Pieces, type Turn } from '@gantry/base';
import { Allowance } from '@gantry/cel';
import { itemsOf, type JsonSchema, valuesOf } from '@gantry/apimachinery';
import {
  type CustomResourceDefinitionNames,
  type CustomResourceDefinitionSpec,
  type CustomResourceDefinitionVersion,
  dns1035Label,
  dns1123Subdomain,
  equalJson,
  type FieldError,
  invalid,
  notSupported,
  required,
} from '@gantry/objects';
import { validateConversion } from './conversion.ts';
import { printedVersion } from './printed.ts';
import { validateColumns, validateSelectable, validateSubresources } from './version-parts.ts';
import { type SchemaContext, validateSchema } from './version-schema.ts';

/**
 * All errors in the spec in Kubernetes' order. Fields that all versions share are validated as fields of the spec. Computed in pieces (one
 * per version and per validation of its schema), because a schema may be as large as a request.
 */
export function validateDefinitionSpec(
  spec: CustomResourceDefinitionSpec,
  old: CustomResourceDefinitionSpec | undefined,
): InTurns<readonly FieldError[]> {
  return (turn) => validateSpec(spec, old, turn);
}

type Versions = readonly CustomResourceDefinitionVersion[];
type Shared = 'schema' | 'subresources' | 'additionalPrinterColumns' | 'selectableFields';

/** A field that all versions share; undefined if they differ. */
function* sharedBy<K extends Shared>(
  versions: Versions,
  key: K,
): Pieces<CustomResourceDefinitionVersion[K] | undefined> {
  const first = versions[0]?.[key];
  if (first === undefined || (Array.isArray(first) && first.length === 0)) return undefined;
  for (const version of versions.slice(1)) {
    if (!equalJson(version[key], first)) return undefined;
    yield;
  }
  return first;
}

type SharedParts = Pick<CustomResourceDefinitionVersion, Shared>;

/** The parts that all versions share. */
function* sharedParts(versions: Versions): Pieces<SharedParts> {
  const schema = yield* sharedBy(versions, 'schema');
  const subresources = yield* sharedBy(versions, 'subresources');
  const additionalPrinterColumns = yield* sharedBy(versions, 'additionalPrinterColumns');
  const selectableFields = yield* sharedBy(versions, 'selectableFields');
  return {
    ...(schema === undefined ? {} : { schema }),
    ...(subresources === undefined ? {} : { subresources }),
    ...(additionalPrinterColumns === undefined ? {} : { additionalPrinterColumns }),
    ...(selectableFields === undefined ? {} : { selectableFields }),
  };
}

/** A version without the shared parts. */
function ownParts(version: CustomResourceDefinitionVersion, shared: SharedParts): CustomResourceDefinitionVersion {
  const own = Object.entries(version).filter(([name]) => !Object.hasOwn(shared, name));
  return Object.fromEntries(own) as CustomResourceDefinitionVersion;
}

function* validateSpec(
  spec: CustomResourceDefinitionSpec,
  old: CustomResourceDefinitionSpec | undefined,
  turn: Turn,
): Pieces<readonly FieldError[]> {
  const versions = spec.versions ?? [];
  const shared = yield* sharedParts(versions);
  const own = versions.map((version) => ownParts(version, shared));
  const errors = [...validateGroup(spec.group), ...validateScope(spec.scope), ...requireSchemas(own, shared)];
  if (spec.preserveUnknownFields === true && versions.some((version) => hasDefaults(schemaIn(version)))) {
    const detail = 'must be false in order to use defaults in the schema';
    errors.push(invalid('spec.preserveUnknownFields', true, detail));
  }
  const context: SchemaContext = {
    turn,
    allowance: new Allowance(),
    allowanceOfDefaults: new Allowance(),
    isUnchanged: unchangedSchemas(versions, old?.versions ?? []),
  };
  const firstNamed = firstByName(own);
  for (const [i, version] of own.entries()) {
    const path = `spec.versions[${i}]`;
    const label = dns1035Label(version.name ?? '');
    if (label.length > 0) errors.push(invalid(`${path}.name`, version.name ?? '', label.join(',')));
    // Looked up by name as in Kubernetes: for two versions with the same name, the first one counts for both.
    const named = firstNamed.get(version.name) ?? version;
    const hasStatus = (named.subresources ?? shared.subresources)?.status !== undefined;
    append(errors, yield* validateVersion(version, path, hasStatus, context));
    yield;
  }
  append(errors, validateVersionSet(own));
  append(errors, [...validateNamesRequired(spec.names), ...validateNames(spec.names, 'spec.names')]);
  append(errors, yield* validateShared(shared, versions, context));
  const { conversion } = spec;
  if (conversion !== undefined && conversion.strategy !== 'None' && spec.preserveUnknownFields === true) {
    const detail = 'must be None if spec.preserveUnknownFields is true';
    errors.push(invalid('spec.conversion.strategy', conversion.strategy, detail));
  }
  return [...errors, ...validateConversion(conversion)];
}

function requireSchemas(own: Versions, shared: SharedParts): FieldError[] {
  if (shared.schema?.openAPIV3Schema !== undefined) return [];
  return own.flatMap(({ schema }, i) =>
    schema?.openAPIV3Schema === undefined ? [required(`spec.versions[${i}].schema.openAPIV3Schema`)] : [],
  );
}

/** Validates the shared parts as fields of the spec. */
function* validateShared(shared: SharedParts, versions: Versions, context: SchemaContext): Pieces<FieldError[]> {
  const schema = schemaIn(shared);
  const hasStatus = versions.some(({ subresources }) => subresources?.status !== undefined);
  const version = versions[0]?.name ?? '';
  const errors = [
    ...(yield* validateSchema(schema, 'spec.validation', { hasStatus, version, context })),
    ...validateSubresources(shared.subresources, 'spec.subresources'),
    ...validateColumns(shared.additionalPrinterColumns ?? [], 'spec.additionalPrinterColumns'),
  ];
  const fields = shared.selectableFields;
  if (fields === undefined) return errors;
  if (schema !== undefined) return [...errors, ...validateSelectable(fields, schema, 'spec')];
  return [...errors, invalid('spec.selectableFields', '', 'may only be set when validations.schema is included')];
}

/** The first version of each name. */
function firstByName(versions: Versions): ReadonlyMap<string, CustomResourceDefinitionVersion> {
  return new Map(versions.toReversed().map((version) => [version.name, version]));
}

/** Whether the schema of the first version with a name is unchanged. Compared once per name. */
function unchangedSchemas(versions: Versions, old: Versions): (name: string) => boolean {
  const firstNamed = firstByName(versions);
  const before = new Map(old.map((version) => [version.name, version.schema]));
  const known = new Map<string, boolean>();
  return (name) => {
    const found = known.get(name);
    if (found !== undefined) return found;
    const version = firstNamed.get(name);
    const isUnchanged = version !== undefined && before.has(name) && equalJson(version.schema, before.get(name));
    known.set(name, isUnchanged);
    return isUnchanged;
  };
}

function schemaIn(version: SharedParts): JsonSchema | undefined {
  return version.schema?.openAPIV3Schema as JsonSchema | undefined;
}

function hasDefaults(schema: JsonSchema | undefined): boolean {
  if (schema === undefined) return false;
  if ((schema.default ?? null) !== null) return true;
  const inner = [itemsOf(schema), valuesOf(schema), ...Object.values(schema.properties ?? {})];
  return inner.some(hasDefaults);
}

function validateGroup(group: string | undefined): FieldError[] {
  const path = 'spec.group';
  if ((group ?? '') === '') return [required(path)];
  const wrong = dns1123Subdomain(group ?? '');
  if (wrong.length > 0) return [invalid(path, group, wrong.join(','))];
  return (group ?? '').includes('.') ? [] : [invalid(path, group, 'should be a domain with at least one dot')];
}

function validateScope(scope: string | undefined): FieldError[] {
  if ((scope ?? '') === '') return [required('spec.scope')];
  return scope === 'Cluster' || scope === 'Namespaced'
    ? []
    : [notSupported('spec.scope', scope, ['Cluster', 'Namespaced'])];
}

function* validateVersion(
  version: CustomResourceDefinitionVersion,
  path: string,
  hasStatus: boolean,
  context: SchemaContext,
): Pieces<FieldError[]> {
  const errors = validateDeprecation(version, path);
  const schema = schemaIn(version);
  append(errors, yield* validateSchema(schema, `${path}.schema`, { hasStatus, version: version.name ?? '', context }));
  append(errors, validateSubresources(version.subresources, `${path}.subresources`));
  append(errors, validateColumns(version.additionalPrinterColumns ?? [], `${path}.additionalPrinterColumns`));
  const fields = version.selectableFields ?? [];
  if (fields.length === 0) return errors;
  if (schema === undefined) {
    const detail = 'may only be set when `version.schema.openAPIV3Schema` is not included';
    return [...errors, invalid(`${path}.selectableFields`, '', detail)];
  }
  return [...errors, ...validateSelectable(fields, schema, path)];
}

function validateDeprecation(
  { deprecated, deprecationWarning: text }: CustomResourceDefinitionVersion,
  path: string,
): FieldError[] {
  if (text === undefined) return [];
  const refuse = (detail: string) => invalid(`${path}.deprecationWarning`, text, detail);
  if (deprecated !== true) return [refuse('can only be set for deprecated versions')];
  const errors: FieldError[] = [];
  if (Buffer.byteLength(text) > 256) errors.push(refuse('must be <= 256 characters long'));
  if (text === '') errors.push(refuse('must not be an empty string'));
  const at = text.search(/[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u);
  if (at >= 0) {
    const index = Buffer.byteLength(text.slice(0, at));
    errors.push(
      refuse(`must only contain printable UTF-8 characters; non-printable character found at index ${index}`),
    );
  }
  return errors;
}

function validateVersionSet(versions: readonly CustomResourceDefinitionVersion[]): FieldError[] {
  const errors: FieldError[] = [];
  // Computed only for a message: for large schemas it takes longer than everything else.
  const printed = () => (versions.length === 0 ? null : versions.map(printedVersion));
  if (new Set(versions.map(({ name }) => name)).size < versions.length) {
    errors.push(invalid('spec.versions', printed(), 'must contain unique version names'));
  }
  if (versions.filter(({ storage }) => storage).length !== 1) {
    errors.push(invalid('spec.versions', printed(), 'must have exactly one version marked as storage version'));
  }
  const first = versions[0]?.name ?? '';
  const label = first === '' ? [] : dns1035Label(first);
  if (label.length > 0) errors.push(invalid('spec.version', first, label.join(',')));
  return errors;
}

/** The names that a definition must have. */
function validateNamesRequired(names: CustomResourceDefinitionNames | undefined): FieldError[] {
  return (['plural', 'singular', 'kind', 'listKind'] as const)
    .filter((name) => (names?.[name] ?? '') === '')
    .map((name) => required(`spec.names.${name}`));
}

/** Validates the names that are present, requested or accepted. */
export function validateNames(names: CustomResourceDefinitionNames | undefined, path: string): FieldError[] {
  if (names === undefined) return [];
  const errors: FieldError[] = [];
  const label = (field: string, value: string | undefined) => {
    const wrong = (value ?? '') === '' ? [] : dns1035Label(value ?? '');
    if (wrong.length > 0) errors.push(invalid(`${path}.${field}`, value, wrong.join(',')));
  };
  label('plural', names.plural);
  label('singular', names.singular);
  for (const field of ['kind', 'listKind'] as const) {
    const value = names[field] ?? '';
    const wrong = value === '' ? [] : dns1035Label(value.toLowerCase());
    const detail = `may have mixed case, but should otherwise match: ${wrong.join(',')}`;
    if (wrong.length > 0) errors.push(invalid(`${path}.${field}`, value, detail));
  }
  const all = (field: string, values: readonly string[] | undefined) => {
    for (const [i, value] of (values ?? []).entries()) {
      const wrong = dns1035Label(value);
      if (wrong.length > 0) errors.push(invalid(`${path}.${field}[${i}]`, value, wrong.join(',')));
    }
  };
  all('shortNames', names.shortNames);
  if ((names.kind ?? '') !== '' && names.kind === names.listKind) {
    errors.push(invalid(`${path}.listKind`, names.listKind, 'kind and listKind may not be the same'));
  }
  all('categories', names.categories);
  return errors;
}
