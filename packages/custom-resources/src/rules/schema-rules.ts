import type { InTurns, Turn } from '@gantry/base';
import {
  type Allowance,
  type Bindings,
  CelOptional,
  type CelResult,
  type DeclaredType,
  evaluateInTurns,
  isError,
  MAX_MESSAGE_BYTES,
  type Program,
  RUNTIME_COST_BUDGET,
} from '@gantry/cel';
import { type FieldError, type KubeObject, OMITTED, forbidden, invalid, required } from '@gantry/objects';
import {
  type JsonSchema,
  type ValidationRule,
  isJsonObject,
  itemsOf,
  propertyOf,
  valuesOf,
} from '@gantry/apimachinery';
import { type CompiledRule, compileRules } from './compile-rule.ts';
import { type Correlation, correlateItem, fieldOf, isUnchanged, itemOf, UNCORRELATED } from './correlation.ts';
import { declaredTypeOf, withTypeAndMetadata } from './declared-schema.ts';
import { valueBySchema } from './schema-value.ts';

/** The `x-kubernetes-validations` of a schema, compiled. */
export interface CompiledRules {
  /** The errors of an object; `old` is the object that it replaces. */
  validate(object: KubeObject, old: KubeObject | undefined): InTurns<readonly FieldError[]>;
}

/** Compiles the rules of a custom resource's whole schema; undefined when it has none. */
export function compileSchemaRules(schema: JsonSchema): CompiledRules | undefined {
  const node = compileNode(schema, schema, true);
  if (node === undefined) return undefined;
  return {
    validate: (object, old) =>
      function* (turn) {
        const run = new RulesRun(turn);
        const known = old === undefined ? UNCORRELATED : { known: { value: object, old, schema }, parent: undefined };
        yield* run.visit(node, '', object, old, known);
        return run.errors;
      },
  };
}

/** Validates defaults by the rules of their schemas, each compiled once. As in Kubernetes, all defaults share one cost budget. */
export class RulesOfDefaults {
  readonly #turn: Turn;
  readonly #compilation: Compilation;
  #budget = RUNTIME_COST_BUDGET;

  /** Rules count against the allowance, if there is one. */
  constructor(turn: Turn, allowance: Allowance | undefined) {
    this.#turn = turn;
    this.#compilation = { known: new Map(), allowance };
  }

  /** Whether the budget or the allowance is used up: no further default is validated. */
  get isExhausted(): boolean {
    return this.#budget < 0 || this.#compilation.allowance?.refusal !== undefined;
  }

  /** The errors of a default. It is validated as an unchanged value and then, if rules compare with the old value, as a new one. */
  *validate(
    schema: JsonSchema,
    { value, isResource, path }: { readonly value: unknown; readonly isResource: boolean; readonly path: string },
  ): Pieces<readonly FieldError[]> {
    const node = compileNode(schema, schema, isResource, this.#compilation);
    const refused = this.#compilation.allowance?.refusal;
    if (refused !== undefined) return [forbidden(path, refused)];
    if (node === undefined) return [];
    const budget = this.#budget;
    for (const old of [value, undefined]) {
      const run = new RulesRun(this.#turn, budget);
      const correlation = old === undefined ? UNCORRELATED : { known: { value, old, schema }, parent: undefined };
      yield* run.visit(node, path, value, old, correlation);
      this.#budget = Math.min(this.#budget, run.budget);
      if (run.errors.length > 0) return run.errors;
    }
    return [];
  }
}

/** The rules at one place of a schema, and those below it. */
interface RuleNode {
  readonly schema: JsonSchema;
  readonly isResource: boolean;
  /** Undefined if there are rules but the type of their values is unknown. */
  readonly rules: readonly CompiledRule[] | undefined;
  readonly items: RuleNode | undefined;
  readonly values: RuleNode | undefined;
  readonly properties: ReadonlyMap<string, RuleNode>;
  readonly allOf: readonly RuleNode[];
}

/** A compilation of several parts of one schema. */
interface Compilation {
  /** Compiled nodes of schemas with rules, as resources or as other values. */
  readonly known: Map<JsonSchema, { readonly isResource: boolean; readonly node: RuleNode | undefined }>;
  readonly allowance: Allowance | undefined;
}

/** `rules` contains the rules, `schema` describes the values; inside allOf they differ. */
function compileNode(
  rules: JsonSchema,
  schema: JsonSchema,
  isResource: boolean,
  compilation?: Compilation,
): RuleNode | undefined {
  if (compilation === undefined || rules !== schema) return makeNode(rules, schema, isResource, compilation);
  const before = compilation.known.get(schema);
  if (before?.isResource === isResource) return before.node;
  const node = makeNode(rules, schema, isResource, compilation);
  compilation.known.set(schema, { isResource, node });
  return node;
}

function makeNode(
  rules: JsonSchema,
  schema: JsonSchema,
  isResource: boolean,
  compilation: Compilation | undefined,
): RuleNode | undefined {
  const inner = (ruled: JsonSchema | undefined, typed: JsonSchema | undefined) =>
    ruled === undefined || typed === undefined
      ? undefined
      : compileNode(ruled, typed, typed['x-kubernetes-embedded-resource'] === true, compilation);
  const properties = new Map<string, RuleNode>();
  for (const [name, property] of Object.entries(rules.properties ?? {})) {
    const node = inner(property, propertyOf(schema, name));
    if (node !== undefined) properties.set(name, node);
  }
  const items = inner(itemsOf(rules), itemsOf(schema));
  const values = inner(valuesOf(rules), valuesOf(schema));
  const allOf = (rules.allOf ?? [])
    .map((one) => compileNode(one, schema, isResource, compilation))
    .filter((one) => one !== undefined);
  const own = rules['x-kubernetes-validations'] ?? [];
  if (own.length === 0 && !items && !values && properties.size === 0 && allOf.length === 0) return undefined;
  const type: DeclaredType | undefined = own.length === 0 ? undefined : declaredTypeOf(schema, isResource, 'selfType');
  const compiled = own.length === 0 ? [] : type && compileRules(own, type, compilation?.allowance);
  return { schema, isResource, rules: compiled, items, values, properties, allOf };
}

const textOf = (rule: ValidationRule) => (rule.message || (rule.rule ?? '')).trim();

/** The pieces of a computation with a result of type T. */
type Pieces<T> = Generator<undefined, T, undefined>;

/** One validation of one object, with one budget for all rules. */
class RulesRun {
  readonly errors: FieldError[] = [];
  readonly #turn: Turn;
  #budget: number;

  constructor(turn: Turn, budget = RUNTIME_COST_BUDGET) {
    this.#turn = turn;
    this.#budget = budget;
  }

  /** The remaining budget; below 0 if it was exceeded. */
  get budget(): number {
    return this.#budget;
  }

  *visit(node: RuleNode, path: string, value: unknown, old: unknown, correlation: Correlation): Pieces<void> {
    if (value === null || value === undefined || this.#budget < 0) return;
    yield* this.#evaluateAll(node, path, value, old, correlation);
    for (const one of node.allOf) {
      yield* this.visit(one, path, value, old, { known: undefined, parent: correlation.parent });
    }
    if (Array.isArray(value)) yield* this.#visitItems(node, path, value, old, correlation);
    else if (isJsonObject(value))
      yield* this.#visitFields(node, path, value, isJsonObject(old) ? old : {}, correlation);
  }

  *#visitItems(
    node: RuleNode,
    path: string,
    items: readonly unknown[],
    old: unknown,
    correlation: Correlation,
  ): Pieces<void> {
    if (node.items === undefined) return;
    for (const [index, item] of items.entries()) {
      const before = correlateItem(node.schema, old, item);
      yield* this.visit(node.items, `${path}[${index}]`, item, before, itemOf(correlation, item));
    }
  }

  *#visitFields(
    node: RuleNode,
    path: string,
    fields: Readonly<Record<string, unknown>>,
    old: Readonly<Record<string, unknown>>,
    correlation: Correlation,
  ): Pieces<void> {
    for (const [name, value] of Object.entries(fields)) {
      const before = Object.hasOwn(old, name) ? old[name] : undefined;
      const part = fieldOf(correlation, name);
      if (node.values !== undefined) yield* this.visit(node.values, `${path}[${name}]`, value, before, part);
      const property = node.properties.get(name);
      if (property === undefined) continue;
      yield* this.visit(property, path === '' ? name : `${path}.${name}`, value, before, part);
    }
  }

  *#evaluateAll(node: RuleNode, path: string, value: unknown, old: unknown, correlation: Correlation): Pieces<void> {
    if (node.rules?.length === 0) return;
    const shownPath = path === '' ? '<nil>' : path;
    const type = node.schema.type ?? '';
    if (node.rules === undefined) {
      const why = 'failed to convert to declType for CEL validation rules';
      this.errors.push(invalid(shownPath, type, `rule compiler initialization error: ${why}`));
      return;
    }
    if (this.#budget <= 0) {
      this.#exhausted(
        invalid(
          shownPath,
          type,
          'validation failed due to running out of cost budget, no further validation rules will be run',
        ),
      );
      return;
    }
    const schema = node.isResource ? withTypeAndMetadata(node.schema) : node.schema;
    const self = () => valueBySchema(value, schema);
    const oldSelf = (optional: boolean) => (): CelResult => {
      if (old === undefined || old === null) return new CelOptional(undefined);
      const before = valueBySchema(old, schema);
      return optional && !isError(before) ? new CelOptional(before) : before;
    };
    for (const compiled of node.rules) {
      const { rule, program } = compiled;
      if (compiled.error !== undefined) {
        this.errors.push(invalid(shownPath, type, `rule compile error: ${compiled.error}`));
      }
      if (program === undefined) continue;
      const optional = rule.optionalOldSelf === true;
      if (compiled.usesOldSelf && (old === undefined || old === null) && !optional) continue;
      const bindings = { self, oldSelf: oldSelf(optional) };
      const failure = yield* this.#evaluate(program, rule, shownPath, type, bindings);
      if (this.#budget < 0) return;
      if (failure !== 'false') continue;
      const ratchet = compiled.usesOldSelf ? undefined : correlation;
      yield* this.#addFailure(compiled, { path: shownPath, schema: node.schema, value }, bindings, ratchet);
      if (this.#budget < 0) return;
    }
  }

  #exhausted(error: FieldError): void {
    this.errors.push(error);
    this.#budget = -1;
  }

  *#evaluate(
    program: Program,
    rule: ValidationRule,
    path: string,
    type: string,
    bindings: Bindings,
  ): Pieces<'true' | 'false' | 'failed'> {
    const result = yield* evaluateInTurns(program, this.#turn, bindings);
    if (result.cost > this.#budget) {
      this.#exhausted(
        invalid(
          path,
          type,
          `validation failed due to running out of cost budget, no further validation rules will be run`,
        ),
      );
      return 'failed';
    }
    this.#budget -= result.cost;
    if (result.ok) return result.value === true ? 'true' : 'false';
    const { error } = result;
    const text = textOf(rule);
    if (error.startsWith('no such overload')) {
      const detail = `'${error}': call arguments did not match a supported operator, function or macro signature for rule: ${text}`;
      this.errors.push(invalid(path, type, detail));
    } else if (error.startsWith('operation cancelled: actual cost limit exceeded')) {
      const detail = `'${error}': no further validation rules will be run due to call cost exceeds limit for rule: ${text}`;
      this.#exhausted(invalid(path, type, detail));
    } else this.errors.push(invalid(path, type, `${error} evaluating rule: ${text}`));
    return 'failed';
  }

  /** Unchanged values are not reported: the rule may be newer than they are. */
  *#addFailure(
    compiled: CompiledRule,
    { path, schema, value }: { readonly path: string; readonly schema: JsonSchema; readonly value: unknown },
    bindings: Bindings,
    ratchet: Correlation | undefined,
  ): Pieces<void> {
    const { rule } = compiled;
    const at = atFieldPath(path, rule.fieldPath ?? '');
    const message = yield* this.#message(compiled, at, schema, bindings);
    if (message === undefined || (ratchet !== undefined && isUnchanged(ratchet))) return;
    const shown = schema.type === 'object' || schema.type === 'array' ? OMITTED : value;
    this.errors.push(errorFor(rule.reason, at, shown, message));
  }

  /** The rule's message; undefined if evaluating it used up the budget. */
  *#message(
    { rule, message }: CompiledRule,
    path: string,
    schema: JsonSchema,
    bindings: Bindings,
  ): Pieces<string | undefined> {
    const standing = (rule.message ?? '') === '' ? `failed rule: ${textOf(rule)}` : textOf(rule);
    if (message === undefined) return standing;
    const result = yield* evaluateInTurns(message, this.#turn, bindings);
    const refuse = (detail: string) => {
      this.#exhausted(invalid(path, schema.type, detail));
      return undefined;
    };
    if (result.cost > this.#budget) {
      return refuse(
        'messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run',
      );
    }
    if (!result.ok && result.error.startsWith('operation cancelled')) {
      return refuse(
        `no further validation rules will be run due to call cost exceeds limit for messageExpression: ${JSON.stringify(rule.messageExpression)}`,
      );
    }
    this.#budget -= result.cost;
    const text = result.ok && typeof result.value === 'string' ? result.value.trim() : '';
    const isFit = text !== '' && Buffer.byteLength(text) <= MAX_MESSAGE_BYTES && !text.includes('\n');
    return isFit ? text : standing;
  }
}

/** Appends a field path (`.spec.a`, `['b-c']`) to a path. Field paths were checked when the definition was stored. */
function atFieldPath(path: string, fieldPath: string): string {
  const trimmed = fieldPath.trim();
  if (trimmed === '') return path;
  const normal = trimmed.replace(
    /\['((?:[^'\\]|\\.)*)'\]/g,
    (_whole, name: string) => `.${name.replace(/\\(.)/g, '$1')}`,
  );
  return path === '<nil>' ? normal.replace(/^\./, '') : `${path}${normal}`;
}

function errorFor(reason: string | undefined, path: string, value: unknown, message: string): FieldError {
  switch (reason) {
    case 'FieldValueForbidden':
      return forbidden(path, message);
    case 'FieldValueRequired':
      return required(path, message);
    case 'FieldValueDuplicate':
      return { type: 'FieldValueDuplicate', field: path, value, detail: '' };
    default:
      return invalid(path, value, message);
  }
}
