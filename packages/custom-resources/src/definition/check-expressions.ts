import { type Allowance, type DeclaredType, ESTIMATED_COST_LIMIT, ESTIMATED_TOTAL_COST_LIMIT } from '@gantry/cel';
import { type FieldError, forbidden, invalid } from '@gantry/objects';
import { printedRule } from './printed.ts';
import { type JsonSchema, type ValidationRule, itemsOf, valuesOf } from '@gantry/apimachinery';
import { type CompiledRule, compileRules, maxCardinality } from '../rules/compile-rule.ts';
import { declaredTypeOf } from '../rules/declared-schema.ts';

const UNBOUNDED = 2 ** 64;
const multiply = (left: number, right: number) => (left === 0 || right === 0 ? 0 : Math.min(left * right, UNBOUNDED));

/**
 * Errors in the expressions of all rules in a schema: expressions that do not compile, `oldSelf` where the old value cannot be identified,
 * and costs above the limits.
 */
export function checkExpressions(schema: JsonSchema, path: string, options: CheckOptions): readonly FieldError[] {
  const checker = new ExpressionChecker(options);
  const place: Place = { cardinality: 1, uncorrelatable: undefined, isResource: true, parentType: undefined };
  checker.check(schema, path, place);
  return [...checker.errors, ...checker.totalErrors(path)];
}

interface CheckOptions {
  /** Whether there are other errors at or below a path: rules there are not checked. */
  readonly isBroken: (path: string) => boolean;
  /** 'total' for stored rules: the cost of a single rule is not limited. */
  readonly costs: 'each' | 'total';
  /** The common allowance of the expressions; absent for stored rules. */
  readonly allowance?: Allowance;
}

interface Place {
  /** The maximum number of such values in one object; undefined if only the request size limits it. */
  readonly cardinality: number | undefined;
  /** The surrounding list or atomic map that makes old values unidentifiable; undefined if there is none. */
  readonly uncorrelatable: string | undefined;
  readonly isResource: boolean;
  /** The declared type of the surrounding value, if it or its parents have rules. */
  readonly parentType: (() => DeclaredType | 'unknown') | undefined;
}

class ExpressionChecker {
  readonly errors: FieldError[] = [];
  readonly #options: CheckOptions;
  #total = 0;
  #expensive: { readonly path: string; readonly cost: number }[] = [];

  constructor(options: CheckOptions) {
    this.#options = options;
  }

  check(schema: JsonSchema, path: string, place: Place): void {
    const rules = schema['x-kubernetes-validations'] ?? [];
    const type = typeAt(schema, place, rules.length > 0);
    const inner = (child: JsonSchema, at: string, uncorrelatable = place.uncorrelatable) =>
      this.check(child, `${path}.${at}`, {
        cardinality: childCardinality(schema, place.cardinality),
        uncorrelatable,
        isResource: child['x-kubernetes-embedded-resource'] === true,
        parentType: type,
      });
    const values = valuesOf(schema);
    if (values !== undefined) inner(values, 'additionalProperties');
    const isWhole = schema['x-kubernetes-map-type'] === 'atomic';
    for (const [name, property] of Object.entries(schema.properties ?? {})) {
      inner(property, `properties[${name}]`, place.uncorrelatable ?? (isWhole ? path : undefined));
    }
    const items = itemsOf(schema);
    if (items !== undefined) {
      const keyed = schema['x-kubernetes-list-type'] === 'map';
      inner(items, 'items', place.uncorrelatable ?? (keyed ? undefined : path));
    }
    if (type === undefined || rules.length === 0 || this.#options.isBroken(path)) return;
    if (this.#options.allowance?.refusal !== undefined) return;
    const known = type();
    const at = `${path}.x-kubernetes-validations`;
    if (known !== 'unknown') this.#checkRules(rules, known, at, place);
    else this.errors.push({ type: 'InternalError', field: at, detail: NO_TYPE });
  }

  #checkRules(rules: readonly ValidationRule[], type: DeclaredType, path: string, place: Place): void {
    const cardinality = place.cardinality ?? maxCardinality(type);
    const { allowance } = this.#options;
    for (const [index, compiled] of compileRules(rules, type, allowance).entries()) {
      const at = `${path}[${index}]`;
      const cost = multiply(compiled.program?.estimatedCost.max ?? 0, cardinality);
      this.#observe(`${at}.rule`, 'estimated rule cost', cost);
      if (compiled.error !== undefined)
        this.errors.push(invalid(`${at}.rule`, printedRule(compiled.rule), compiled.error));
      if (compiled.messageError !== undefined) {
        this.errors.push(invalid(`${at}.messageExpression`, printedRule(compiled.rule), compiled.messageError));
      } else if (compiled.message !== undefined) {
        const { max } = compiled.message.estimatedCost;
        this.#observe(`${at}.messageExpression`, 'estimated messageExpression cost', max);
      }
      // One message is enough: later rules are rejected for the same reason.
      if (allowance?.refusal !== undefined && compiled.error !== undefined) return;
      this.#checkOldSelf(compiled, at, place);
    }
  }

  #checkOldSelf({ rule, usesOldSelf }: CompiledRule, at: string, { uncorrelatable }: Place): void {
    if (usesOldSelf && uncorrelatable !== undefined) {
      const detail = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${uncorrelatable}`;
      this.errors.push(invalid(`${at}.rule`, rule.rule, detail));
    } else if (!usesOldSelf && rule.optionalOldSelf !== undefined) {
      const detail = 'may not be set if oldSelf is not used in rule';
      this.errors.push(invalid(`${at}.optionalOldSelf`, rule.optionalOldSelf, detail));
    }
  }

  #observe(path: string, name: string, cost: number): void {
    const isHeld = this.#options.costs === 'each';
    if (isHeld && cost > ESTIMATED_COST_LIMIT)
      this.errors.push(forbidden(path, tooExpensive(name, cost, ESTIMATED_COST_LIMIT)));
    this.#total = Math.min(this.#total + cost, UNBOUNDED);
    if (cost < ESTIMATED_TOTAL_COST_LIMIT / 100) return;
    this.#expensive = [...this.#expensive, { path, cost }].sort((a, b) => b.cost - a.cost).slice(0, 4);
  }

  /** The most expensive rules and the total, if the total exceeds the limit. */
  totalErrors(path: string): FieldError[] {
    if (this.#total <= ESTIMATED_TOTAL_COST_LIMIT) return [];
    const total = 'x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema';
    return [
      ...this.#expensive.map((rule) =>
        forbidden(
          rule.path,
          'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema',
        ),
      ),
      forbidden(path, tooExpensive(total, this.#total, ESTIMATED_TOTAL_COST_LIMIT)),
    ];
  }
}

const NO_TYPE =
  'internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations';

/** The declared type of the value, computed on first use; unknown if the surrounding type is unknown. */
function typeAt(schema: JsonSchema, place: Place, hasRules: boolean): (() => DeclaredType | 'unknown') | undefined {
  const { parentType, isResource } = place;
  if (parentType === undefined && !hasRules) return undefined;
  let type: DeclaredType | 'unknown' | undefined;
  return () => {
    type ??= parentType?.() === 'unknown' ? 'unknown' : (declaredTypeOf(schema, isResource, 'selfType') ?? 'unknown');
    return type;
  };
}

function childCardinality(schema: JsonSchema, cardinality: number | undefined): number | undefined {
  const bound = (limit: number | undefined) =>
    cardinality === undefined || limit === undefined ? undefined : multiply(cardinality, Math.max(0, limit));
  if (schema.type === 'array') return bound(schema.maxItems);
  return schema.type === 'object' && schema.additionalProperties !== undefined
    ? bound(schema.maxProperties)
    : cardinality;
}

function tooExpensive(name: string, cost: number, limit: number): string {
  const factor = cost / limit;
  let shown = `${factor.toFixed(1)}x`;
  if (factor > 100) shown = 'more than 100x';
  else if (factor < 1.5) shown = `${factor.toFixed(6)}x`;
  const hint =
    '(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)';
  return `${name} exceeds budget by factor of ${shown} ${hint}`;
}
