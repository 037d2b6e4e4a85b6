import { append, type InTurns, repeatedAt, type Turn } from '@gantry/base';
import { followFieldPath } from '../field-path.ts';
import { type JsonSchema, itemsOf, validateWebhookService, validateWebhookUrl, valuesOf } from '@gantry/apimachinery';
import {
  type CustomResourceColumnDefinition,
  type CustomResourceConversion,
  type CustomResourceDefinitionNames,
  type CustomResourceDefinitionSpec,
  type CustomResourceDefinitionVersion,
  type CustomResourceSubresources,
  type FieldError,
  type SelectableField,
  dns1035Label,
  dns1123Subdomain,
  duplicate,
  equalJson,
  forbidden,
  invalid,
  notSupported,
  required,
} from '@gantry/objects';
import { Allowance } from '@gantry/cel';
import { checkExpressions } from './check-expressions.ts';
import { refusePatterns } from '../pattern.ts';
import { validateDefaults } from './defaults.ts';
import { printedVersion, wordsOf } from './printed.ts';
import { validateOpenApiSchema } from './schema.ts';
import { findUnsupported, validateStructural } from './structural.ts';

const COLUMN_TYPES = ['boolean', 'date', 'integer', 'number', 'string'];
const COLUMN_FORMATS = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password'];
const MAX_SELECTABLE = 8;

/** At the root of a schema with a status of its own only these may stand: the status is checked by itself. */
const ROOT_WORDS: readonly string[] = [
  'Description',
  'Type',
  'Format',
  'Title',
  'Maximum',
  'ExclusiveMaximum',
  'Minimum',
  'ExclusiveMinimum',
  'MaxLength',
  'MinLength',
  'Pattern',
  'MaxItems',
  'MinItems',
  'UniqueItems',
  'MultipleOf',
  'Required',
  'Items',
  'Properties',
  'ExternalDocs',
  'Example',
  'XPreserveUnknownFields',
  'XValidations',
];

/**
 * All errors in the spec, in Kubernetes' order: fields that all versions share are validated as fields of the spec. Computed in pieces,
 * one for each version and each validation of its schema, since a schema may be as large as a request.
 */
export function validateDefinitionSpec(
  spec: CustomResourceDefinitionSpec,
  old: CustomResourceDefinitionSpec | undefined,
): InTurns<readonly FieldError[]> {
  return (turn) => validateSpec(spec, old, turn);
}

/** Pieces of a computation whose result is a T. */
type Pieces<T> = Generator<undefined, T, undefined>;
type Versions = readonly CustomResourceDefinitionVersion[];
type Shared = 'schema' | 'subresources' | 'additionalPrinterColumns' | 'selectableFields';

/** What all versions have alike; undefined when they differ. */
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

function* validateSpec(
  spec: CustomResourceDefinitionSpec,
  old: CustomResourceDefinitionSpec | undefined,
  turn: Turn,
): Pieces<readonly FieldError[]> {
  const versions = spec.versions ?? [];
  const schema = yield* sharedBy(versions, 'schema');
  const subresources = yield* sharedBy(versions, 'subresources');
  const columns = yield* sharedBy(versions, 'additionalPrinterColumns');
  const fields = yield* sharedBy(versions, 'selectableFields');
  const own = versions.map((version): CustomResourceDefinitionVersion => {
    const { schema: a, subresources: b, additionalPrinterColumns: c, selectableFields: d, ...rest } = version;
    return {
      ...rest,
      ...(schema === undefined && a !== undefined ? { schema: a } : {}),
      ...(subresources === undefined && b !== undefined ? { subresources: b } : {}),
      ...(columns === undefined && c !== undefined ? { additionalPrinterColumns: c } : {}),
      ...(fields === undefined && d !== undefined ? { selectableFields: d } : {}),
    };
  });
  const errors = [...validateGroup(spec.group), ...validateScope(spec.scope)];
  if (schema?.openAPIV3Schema === undefined) {
    for (const [i, version] of own.entries()) {
      if (version.schema?.openAPIV3Schema === undefined)
        errors.push(required(`spec.versions[${i}].schema.openAPIV3Schema`));
    }
  }
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
    // By the name, as Kubernetes looks it up: of two versions of one name the first counts for both.
    const named = firstNamed.get(version.name) ?? version;
    const hasStatus = (named.subresources ?? subresources)?.status !== undefined;
    append(errors, yield* validateVersion(version, path, hasStatus, context));
    yield;
  }
  append(errors, validateVersionSet(own));
  append(errors, [...validateNamesRequired(spec.names), ...validateNames(spec.names, 'spec.names')]);
  const anyStatus = versions.some((version) => version.subresources?.status !== undefined);
  append(
    errors,
    yield* validateSchema(schema?.openAPIV3Schema as JsonSchema | undefined, 'spec.validation', {
      hasStatus: anyStatus,
      version: versions[0]?.name ?? '',
      context,
    }),
  );
  append(errors, validateSubresources(subresources, 'spec.subresources'));
  append(errors, validateColumns(columns ?? [], 'spec.additionalPrinterColumns'));
  if (fields !== undefined) {
    const root = schema?.openAPIV3Schema as JsonSchema | undefined;
    if (root === undefined)
      errors.push(invalid('spec.selectableFields', '', 'may only be set when validations.schema is included'));
    else append(errors, validateSelectable(fields, root, 'spec'));
  }
  const { conversion } = spec;
  if (conversion !== undefined && conversion.strategy !== 'None' && spec.preserveUnknownFields === true) {
    const detail = 'must be None if spec.preserveUnknownFields is true';
    errors.push(invalid('spec.conversion.strategy', conversion.strategy, detail));
  }
  return [...errors, ...validateConversion(conversion)];
}

interface SchemaContext {
  readonly turn: Turn;
  /** What the expressions and patterns of all versions may have together. */
  readonly allowance: Allowance;
  /** The same of those that defaults are validated by, which are compiled once more. */
  readonly allowanceOfDefaults: Allowance;
  /** Whether a version's schema is what it was. */
  readonly isUnchanged: (version: string) => boolean;
}

/** The first version of each name. */
function firstByName(versions: Versions): ReadonlyMap<string, CustomResourceDefinitionVersion> {
  return new Map(versions.toReversed().map((version) => [version.name, version]));
}

/** Whether the schema of the first version of a name is what it was: compared once. */
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

function schemaIn(version: CustomResourceDefinitionVersion): JsonSchema | undefined {
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
  // Only for a message: of large schemas that takes longer than all else.
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

function validateNamesRequired(names: CustomResourceDefinitionNames | undefined): FieldError[] {
  return (['plural', 'singular', 'kind', 'listKind'] as const)
    .filter((name) => (names?.[name] ?? '') === '')
    .map((name) => required(`spec.names.${name}`));
}

/** The rules on names that are there, asked for or accepted. */
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

function* validateSchema(
  schema: JsonSchema | undefined,
  path: string,
  of: { readonly hasStatus: boolean; readonly version: string; readonly context: SchemaContext },
): Pieces<FieldError[]> {
  if (schema === undefined) return [];
  const at = `${path}.openAPIV3Schema`;
  const { isUnchanged, allowance, allowanceOfDefaults, turn } = of.context;
  const isStored = isUnchanged(of.version);
  yield;
  const refused = isStored ? undefined : refusePatterns(schema, allowance);
  if (refused !== undefined) return [forbidden(at, refused)];
  const errors = of.hasStatus ? validateRoot(schema, at) : [];
  if (schema.nullable === true) errors.push(forbidden(`${at}.nullable`, 'nullable cannot be true at the root'));
  yield;
  const unsupported = findUnsupported(schema);
  yield;
  const structural = unsupported === undefined ? validateStructural(schema, at) : [];
  yield;
  const hasShape = unsupported === undefined && structural.length === 0;
  const ofDefaults = { turn, allowance: isStored ? undefined : allowanceOfDefaults };
  const shape = hasShape ? yield* validateDefaults(schema, at, ofDefaults) : structural;
  yield;
  const words = validateOpenApiSchema(schema, at);
  yield;
  append(errors, [...shape, ...words]);
  if (errors.length === 0 && unsupported !== undefined) return [invalid(at, '', unsupported)];
  if (unsupported !== undefined || shape.length > 0) return errors;
  const isBroken = startsAny(words.map(({ field }) => field));
  const bounds = isStored ? ({ costs: 'total' } as const) : ({ costs: 'each', allowance } as const);
  return [...errors, ...checkExpressions(schema, at, { isBroken, ...bounds })];
}

/** Whether a path is above one of these: found without a look at each of them. */
function startsAny(paths: readonly string[]): (above: string) => boolean {
  const sorted = paths.toSorted();
  return (above) => {
    const start = `${above}.`;
    let [low, high] = [0, sorted.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sorted[middle] ?? '') < start) low = middle + 1;
      else high = middle;
    }
    return sorted[low]?.startsWith(start) === true;
  };
}

function validateRoot(schema: JsonSchema, path: string): FieldError[] {
  for (const { name, value } of wordsOf(schema)) {
    if (name === 'Type') {
      if (value === 'object') continue;
      const detail =
        'only "object" is allowed as the type at the root of the schema if the status subresource is enabled';
      return [invalid(`${path}.type`, value, detail)];
    }
    if (ROOT_WORDS.includes(name)) continue;
    const words = ROOT_WORDS.join(' ');
    const detail = `only [${words}] fields are allowed at the root of the schema if the status subresource is enabled`;
    return [invalid(path, schema, detail)];
  }
  return [];
}

function validatePath(text: string, path: string): FieldError[] {
  return text.startsWith('.') ? [] : [invalid(path, text, 'must be a simple json path starting with .')];
}

function validateSubresources(subresources: CustomResourceSubresources | undefined, path: string): FieldError[] {
  const scale = subresources?.scale;
  if (scale === undefined) return [];
  const check = (field: 'specReplicasPath' | 'statusReplicasPath', root: string): FieldError[] => {
    const value = scale[field] ?? '';
    const at = `${path}.scale.${field}`;
    if (value === '') return [required(at)];
    const wrong = validatePath(value, at);
    if (wrong.length > 0) return wrong;
    return value.startsWith(`${root}.`) ? [] : [invalid(at, value, `should be a json path under ${root}`)];
  };
  const errors = [...check('specReplicasPath', '.spec'), ...check('statusReplicasPath', '.status')];
  const { labelSelectorPath = '' } = scale;
  if (labelSelectorPath === '') return errors;
  const at = `${path}.scale.labelSelectorPath`;
  const wrong = validatePath(labelSelectorPath, at);
  if (wrong.length > 0) return [...errors, ...wrong];
  if (/^\.(spec|status)\./.test(labelSelectorPath)) return errors;
  return [...errors, invalid(at, labelSelectorPath, 'should be a json path under either .spec or .status')];
}

function validateColumns(columns: readonly CustomResourceColumnDefinition[], path: string): FieldError[] {
  return columns.flatMap((column, i) => {
    const at = `${path}[${i}]`;
    const { name = '', type = '', format = '', jsonPath = '' } = column;
    const errors: FieldError[] = [];
    const types = `must be one of ${COLUMN_TYPES.join(',')}`;
    if (name === '') errors.push(required(`${at}.name`));
    if (type === '') errors.push(required(`${at}.type`, types));
    else if (!COLUMN_TYPES.includes(type)) errors.push(invalid(`${at}.type`, type, types));
    if (format !== '' && !COLUMN_FORMATS.includes(format)) {
      errors.push(invalid(`${at}.format`, format, `must be one of ${COLUMN_FORMATS.join(',')}`));
    }
    append(errors, jsonPath === '' ? [required(`${at}.JSONPath`)] : validatePath(jsonPath, `${at}.JSONPath`));
    return errors;
  });
}

function validateSelectable(fields: readonly SelectableField[], schema: JsonSchema, parent: string): FieldError[] {
  const unsupported = findUnsupported(schema);
  const path = `${parent}.selectableFields`;
  const errors: FieldError[] = [];
  if (unsupported !== undefined) errors.push(invalid(`${parent}.schema.openAPIV3Schema`, '', unsupported));
  const seen = new Set<string>();
  for (const [i, { jsonPath = '' }] of fields.entries()) {
    const at = `${path}[${i}].jsonPath`;
    if (jsonPath === '') {
      errors.push(required(at));
      continue;
    }
    const found = followFieldPath(schema, jsonPath, { brackets: false });
    if (typeof found === 'string') {
      errors.push(invalid(at, jsonPath, `is an invalid path: ${found}`));
      continue;
    }
    if (found.names[0] === 'metadata') errors.push(invalid(at, jsonPath, 'must not point to fields in metadata'));
    if (!['string', 'boolean', 'integer'].includes(found.schema?.type ?? '')) {
      const detail =
        'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.';
      errors.push(invalid(at, jsonPath, detail));
    }
    if (seen.has(jsonPath)) errors.push(duplicate(at, jsonPath));
    seen.add(jsonPath);
  }
  if (seen.size > MAX_SELECTABLE) {
    const detail = `must have at most ${MAX_SELECTABLE} items`;
    errors.push({ type: 'FieldValueTooMany', field: path, value: seen.size, detail });
  }
  return errors;
}

function validateConversion(conversion: CustomResourceConversion | undefined): FieldError[] {
  if (conversion === undefined) return [];
  const path = 'spec.conversion';
  const errors: FieldError[] = [];
  const { strategy = '', webhook } = conversion;
  if (strategy === '') errors.push(required(`${path}.strategy`));
  else if (strategy !== 'None' && strategy !== 'Webhook') {
    errors.push(notSupported(`${path}.strategy`, strategy, ['None', 'Webhook']));
  }
  const config = webhook?.clientConfig;
  const reviewVersions = webhook?.conversionReviewVersions ?? [];
  const at = `${path}.webhookClientConfig`;
  if (strategy !== 'Webhook') {
    const detail = 'should not be set when strategy is not set to Webhook';
    if (config !== undefined) errors.push(forbidden(at, detail));
    if (reviewVersions.length > 0) errors.push(forbidden(`${path}.conversionReviewVersions`, detail));
    return errors;
  }
  if (config === undefined) errors.push(required(at, 'required when strategy is set to Webhook'));
  else if ((config.url === undefined) === (config.service === undefined)) {
    errors.push(required(at, 'exactly one of url or service is required'));
  } else if (config.url !== undefined) append(errors, validateWebhookUrl(config.url, `${at}.url`));
  else if (config.service !== undefined) append(errors, validateWebhookService(config.service, `${at}.service`));
  return [...errors, ...validateReviewVersions(reviewVersions, `${path}.conversionReviewVersions`)];
}

function validateReviewVersions(versions: readonly string[], path: string): FieldError[] {
  if (versions.length === 0) return [required(path)];
  const isRepeated = repeatedAt(versions);
  const errors = versions.flatMap((version, i) => {
    const at = `${path}[${i}]`;
    if (isRepeated(i)) return [invalid(at, version, 'duplicate version')];
    return dns1035Label(version).map((detail) => invalid(at, version, detail));
  });
  if (!versions.some((version) => version === 'v1' || version === 'v1beta1')) {
    errors.push(invalid(path, versions, 'must include at least one of v1, v1beta1'));
  }
  return errors;
}
