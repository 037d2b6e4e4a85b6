import { append, type InTurns } from '@gantry/base';
import { type FieldError, invalid, type KubeObject } from '@gantry/objects';
import { validateEmbedded } from './embedded.ts';
import type { JsonSchema } from '@gantry/apimachinery';
import { goType } from './converted-object.ts';
import { validateUniqueItems } from './list-uniqueness.ts';
import type { CompiledRules } from './rules/schema-rules.ts';
import { schemaForObjects } from './validated-schema.ts';
import { validateValue } from './validate-value.ts';

/** Compiles the rules of a whole schema; undefined when it has none. */
export type CompileRules = (schema: JsonSchema) => CompiledRules | undefined;

/** The paths of the scale subresource in the definition. */
export interface ScaleRule {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  readonly labelSelectorPath?: string;
}

const MAX_REPLICAS = 2 ** 31 - 1;

/** After these errors, CEL rules are not evaluated: the value may not have the type that they expect. */
const BLOCKING: ReadonlySet<string> = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
]);

/** Validation of custom resources of one version. */
export class CustomRules {
  readonly #schema: JsonSchema;
  /** The schema in the form for validating objects. */
  readonly #valueSchema: JsonSchema;
  readonly #apiVersion: string;
  readonly #kind: string;
  readonly #scale: ScaleRule | undefined;
  readonly #rules: CompiledRules | undefined;

  constructor(of: {
    readonly schema: JsonSchema;
    readonly apiVersion: string;
    readonly kind: string;
    readonly scale: ScaleRule | undefined;
    readonly rules: CompiledRules | undefined;
  }) {
    this.#schema = of.schema;
    this.#valueSchema = schemaForObjects(of.schema);
    this.#apiVersion = of.apiVersion;
    this.#kind = of.kind;
    this.#scale = of.scale;
    this.#rules = of.rules;
  }

  validateNew(object: KubeObject): InTurns<readonly FieldError[]> {
    const kind = this.#validateKind(object);
    if (kind.length > 0) return found(kind);
    const value = withoutMetadata(object);
    const errors = [
      ...validateValue(object, this.#valueSchema),
      ...this.#validateScale(object, 'whole'),
      ...validateEmbedded(value, this.#schema),
      ...validateUniqueItems(value, this.#schema),
    ];
    return this.#withRules(object, undefined, errors);
  }

  /** With `part` 'status', only the status is validated, for updates through that subresource. */
  validateChange(
    object: KubeObject,
    old: KubeObject,
    part: 'whole' | 'status' = 'whole',
  ): InTurns<readonly FieldError[]> {
    const kind = this.#validateKind(object);
    if (kind.length > 0) return found(kind);
    const value = withoutMetadata(object);
    const before = withoutMetadata(old);
    const alike = validateUniqueItems(before, this.#schema).length === 0;
    const errors = [
      ...(part === 'status'
        ? this.#validateStatus(value, before)
        : validateValue(object, this.#valueSchema, '', { value: old })),
      ...this.#validateScale(object, part),
      ...validateEmbedded(value, this.#schema),
      ...(alike ? validateUniqueItems(value, this.#schema) : []),
    ];
    return this.#withRules(object, old, errors);
  }

  #validateStatus(value: Record<string, unknown>, before: Record<string, unknown>): FieldError[] {
    const schema = this.#valueSchema.properties?.status;
    if (schema === undefined || !Object.hasOwn(value, 'status')) return [];
    return validateValue(value.status, schema, 'status', { value: before.status });
  }

  #validateKind(object: KubeObject): FieldError[] {
    const errors: FieldError[] = [];
    if (object.kind !== this.#kind) errors.push(invalid('kind', object.kind, `must be ${this.#kind}`));
    if (object.apiVersion !== this.#apiVersion) {
      errors.push(invalid('apiVersion', object.apiVersion, `must be ${this.#apiVersion}`));
    }
    return errors;
  }

  #validateScale(object: KubeObject, part: 'whole' | 'status'): FieldError[] {
    if (this.#scale === undefined) return [];
    const { specReplicasPath, statusReplicasPath, labelSelectorPath = '' } = this.#scale;
    const errors = part === 'status' ? [] : validateReplicas(object, specReplicasPath);
    append(errors, validateReplicas(object, statusReplicasPath));
    if (labelSelectorPath === '') return errors;
    const selector = at(object, labelSelectorPath);
    if (selector.error === undefined && selector.value !== undefined && typeof selector.value !== 'string') {
      errors.push(invalid(labelSelectorPath, '', accessorError(labelSelectorPath, selector.value, 'string')));
    } else if (selector.error !== undefined) errors.push(invalid(labelSelectorPath, '', selector.error));
    return errors;
  }

  /** Adds the errors of the CEL rules. */
  #withRules(
    object: KubeObject,
    old: KubeObject | undefined,
    errors: readonly FieldError[],
  ): InTurns<readonly FieldError[]> {
    if (this.#rules === undefined) return found(errors);
    if (errors.some((error) => BLOCKING.has(error.type))) {
      const detail =
        'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation';
      return found([...errors, invalid('<nil>', null, detail)]);
    }
    const rules = this.#rules.validate(object, old);
    return function* (turn) {
      return [...errors, ...(yield* rules(turn))];
    };
  }
}

/** Errors that are already known. */
function found(errors: readonly FieldError[]): InTurns<readonly FieldError[]> {
  return function* () {
    return errors;
  };
}

function withoutMetadata(object: KubeObject): Record<string, unknown> {
  const { metadata: _metadata, ...rest } = object;
  return rest;
}

function validateReplicas(object: KubeObject, path: string): FieldError[] {
  const { value, error } = at(object, path);
  if (error !== undefined) return [invalid(path, 0, error)];
  if (value === undefined) return [];
  const isWhole = typeof value === 'bigint' || (typeof value === 'number' && Number.isSafeInteger(value));
  if (!isWhole) return [invalid(path, 0, accessorError(path, value, 'int64'))];
  if (value < 0) return [invalid(path, value, 'should be a non-negative integer')];
  return value > MAX_REPLICAS ? [invalid(path, value, `should be less than or equal to ${MAX_REPLICAS}`)] : [];
}

function at(object: KubeObject, path: string): { readonly value?: unknown; readonly error?: string } {
  let value: unknown = object;
  const parts = path.replace(/^\./, '').split('.');
  for (const [i, part] of parts.entries()) {
    if (value === null || typeof value !== 'object' || Array.isArray(value)) {
      return { error: accessorError(`.${parts.slice(0, i + 1).join('.')}`, value, 'map[string]interface{}') };
    }
    if (!Object.hasOwn(value, part)) return {};
    value = (value as Record<string, unknown>)[part];
  }
  return { value };
}

/** Kubernetes' message about a value of the wrong Go type. */
function accessorError(path: string, value: unknown, expected: string): string {
  return `${path} accessor error: ${goValue(value)} is of the type ${goType(value)}, expected ${expected}`;
}

function goValue(value: unknown): string {
  if (value === null) return '<nil>';
  if (Array.isArray(value)) return `[${value.map(goValue).join(' ')}]`;
  if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value))
    return value.toExponential();
  if (typeof value !== 'object') return String(value);
  const keys = Object.keys(value).sort();
  return `map[${keys.map((key) => `${key}:${goValue((value as Record<string, unknown>)[key])}`).join(' ')}]`;
}
