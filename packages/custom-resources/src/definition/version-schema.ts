import type { JsonSchema } from '@gantry/apimachinery';
import { append, type Pieces, type Turn } from '@gantry/base';
import { type Allowance } from '@gantry/cel';
import { type FieldError, forbidden, invalid } from '@gantry/objects';
import { refusePatterns } from '../pattern.ts';
import { checkExpressions } from './check-expressions.ts';
import { validateDefaults } from './defaults.ts';
import { wordsOf } from './printed.ts';
import { validateOpenApiSchema } from './schema.ts';
import { findUnsupported, validateStructural } from './structural.ts';

/** The only fields that are allowed at the root of a schema with a status subresource: the status is validated separately. */
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

/** Context that the schemas of all versions share. */
export interface SchemaContext {
  readonly turn: Turn;
  /** The common allowance of the expressions and patterns of all versions. */
  readonly allowance: Allowance;
  /** The same for validating defaults, for which they are compiled again. */
  readonly allowanceOfDefaults: Allowance;
  /** Whether a version's schema is unchanged. */
  readonly isUnchanged: (version: string) => boolean;
}

/** The rules on one version's schema, or on that of all versions. */
export function* validateSchema(
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

/** Whether a path is a parent of one of these paths; uses binary search. */
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
