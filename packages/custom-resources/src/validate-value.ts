import { hasRepeated } from './list-uniqueness.ts';
import { type FieldError, equalJson } from '@gantry/objects';
import { checkEnum, checkFormat, checkNumber, checkType } from './check-scalar.ts';
import { failure, invalidFinding, Result, tooMany, whole } from './finding.ts';
import { isStringFormat } from './formats.ts';
import { type JsonSchema, isJsonObject, itemsOf } from '@gantry/apimachinery';
import { MatchBudget, matchesPattern } from './pattern.ts';

/**
 * All errors of a value by its schema, worded like Kubernetes' validator. `path` is the path of the value: '' for a whole resource. With
 * `old`, unchanged parts are not validated. Unlike in Kubernetes, matches of texts and patterns that would take long are rejected with
 * FieldValueTooLong.
 */
export function validateValue(
  value: unknown,
  schema: JsonSchema,
  path = '',
  old?: { readonly value: unknown },
): FieldError[] {
  const { errors } = new SchemaCheck().check(value, schema, '', old);
  return errors.map((error) => ({
    type: error.type,
    field: joinPath(path, error.path?.replace(/^\./, '') ?? ''),
    value: error.value,
    detail: error.detail,
  }));
}

function joinPath(path: string, inner: string): string {
  if (path === '' || inner === '') return path === '' && inner === '' ? '<nil>' : `${path}${inner}`;
  return `${path}.${inner}`;
}

type Old = { readonly value: unknown } | undefined;

/** One check of one value. */
class SchemaCheck {
  readonly #budget = new MatchBudget();

  check(value: unknown, schema: JsonSchema, path: string, old: Old): Result {
    // Unchanged values are accepted: the rules may be newer.
    if (old !== undefined && equalJson(old.value, value)) return new Result();
    const result = new Result();
    if (value === null || value === undefined) {
      result.merge(checkType(null, schema, path));
      result.merge(checkEnum(null, schema, path));
      return result;
    }
    if ((schema.type ?? '') !== '' || (schema.format ?? '') !== '' || schema['x-kubernetes-int-or-string'] === true) {
      mergeCounted(result, checkType(value, schema, path));
    }
    mergeCounted(result, this.#checkAlternatives(value, schema, path, old));
    if (typeof value === 'string') {
      mergeCounted(result, this.#checkString(value, schema, path));
      const { format = '' } = schema;
      if (isStringFormat(format)) mergeCounted(result, checkFormat(value, format, path));
    }
    if (typeof value === 'number' || typeof value === 'bigint') {
      mergeCounted(result, checkNumber(value, schema, path));
    }
    if (Array.isArray(value)) mergeCounted(result, this.#checkList(value, schema, path, old));
    mergeCounted(result, checkEnum(value, schema, path));
    if (isJsonObject(value)) mergeCounted(result, this.#checkObject(value, schema, path, old));
    result.matches++;
    return result;
  }

  #checkString(value: string, schema: JsonSchema, path: string): Result {
    const { minLength, maxLength, pattern = '' } = schema;
    const length = [...value].length;
    if (maxLength !== undefined && length > maxLength) {
      return failure({ type: 'FieldValueTooLong', path, value, detail: `may not be more than ${maxLength} bytes` });
    }
    if (minLength !== undefined && length < minLength) {
      return failure(invalidFinding(path, value, `${path} in body should be at least ${minLength} chars long`));
    }
    return pattern === '' ? new Result() : this.#checkPattern(value, pattern, path);
  }

  #checkList(value: readonly unknown[], schema: JsonSchema, path: string, old: Old): Result {
    const result = new Result();
    const items = itemsOf(schema);
    const { minItems, maxItems, uniqueItems } = schema;
    if (items !== undefined) {
      const before = correlateItems(schema, old);
      for (const [i, item] of value.entries()) result.merge(this.check(item, items, `${path}[${i}]`, before(item)));
    }
    if (minItems !== undefined && value.length < minItems) {
      result.add(invalidFinding(path, value.length, `${path} in body should have at least ${minItems} items`));
    }
    if (maxItems !== undefined && value.length > maxItems) result.add(tooMany(path, value.length, maxItems));
    if (uniqueItems === true && hasRepeated(value)) {
      result.add(invalidFinding(path, '', `${path} in body shouldn't contain duplicates`));
    }
    result.matches++;
    return result;
  }

  #checkObject(value: Record<string, unknown>, schema: JsonSchema, path: string, old: Old): Result {
    const result = new Result();
    const { properties = {}, additionalProperties, minProperties, maxProperties } = schema;
    const count = Object.keys(value).length;
    if (minProperties !== undefined && count < minProperties) {
      result.add(invalidFinding(path, count, `${path} in body should have at least ${minProperties} properties`));
    }
    if (maxProperties !== undefined && count > maxProperties) result.add(tooMany(path, count, maxProperties));
    for (const key of Object.keys(value)) {
      if (Object.hasOwn(properties, key) || additionalProperties === undefined || additionalProperties === true)
        continue;
      if (additionalProperties === false) {
        result.add(invalidFinding(path, key, `${path}.${key} in body is a forbidden property`));
      } else {
        result.merge(this.check(value[key], additionalProperties, `${path}.${key}`, fieldBefore(old, key, schema)));
      }
    }
    for (const [name, property] of Object.entries(properties)) {
      if (!Object.hasOwn(value, name)) continue;
      const inner = path === '' ? name : `${path}.${name}`;
      result.merge(this.check(value[name], property, inner, fieldBefore(old, name, schema)));
    }
    for (const name of schema.required ?? []) {
      if (Object.hasOwn(value, name)) continue;
      result.add({ type: 'FieldValueRequired', path: `${path}.${name}`, value: undefined, detail: '' });
    }
    return result;
  }

  #checkAlternatives(value: unknown, schema: JsonSchema, path: string, old: Old): Result {
    const result = new Result();
    this.#checkAnyOf(result, value, schema, path, old);
    this.#checkOneOf(result, value, schema, path, old);
    this.#checkAllOf(result, value, schema, path, old);
    if (schema.not !== undefined && this.check(value, schema.not, path, undefined).errors.length === 0) {
      result.add(whole(path, 'must not validate the schema (not)'));
    }
    result.matches++;
    return result;
  }

  #checkAnyOf(result: Result, value: unknown, { anyOf = [] }: JsonSchema, path: string, old: Old): void {
    if (anyOf.length === 0) return;
    let best: Result | undefined;
    for (const alternative of anyOf) {
      const one = this.check(value, alternative, path, old);
      if (one.errors.length === 0) {
        result.merge(one);
        return;
      }
      if (best === undefined || one.matches > best.matches) best = one;
    }
    result.add(whole(path, 'must validate at least one schema (anyOf)'));
    if (best !== undefined) result.merge(best);
  }

  #checkOneOf(result: Result, value: unknown, { oneOf = [] }: JsonSchema, path: string, old: Old): void {
    if (oneOf.length === 0) return;
    const all = oneOf.map((alternative) => this.check(value, alternative, path, old));
    const valid = all.filter((one) => one.errors.length === 0);
    const [first] = valid;
    if (valid.length === 1 && first !== undefined) {
      result.merge(first);
      return;
    }
    const found = valid.length === 0 ? 'Found none valid' : `Found ${valid.length} valid alternatives`;
    result.add(whole(path, `must validate one and only one schema (oneOf). ${found}`));
    if (valid.length > 0) return;
    const best = all.reduce<Result | undefined>(
      (nearest, one) => (nearest === undefined || one.matches > nearest.matches ? one : nearest),
      undefined,
    );
    if (best !== undefined) result.merge(best);
  }

  #checkAllOf(result: Result, value: unknown, { allOf = [] }: JsonSchema, path: string, old: Old): void {
    if (allOf.length === 0) return;
    const all = allOf.map((one) => this.check(value, one, path, old));
    for (const one of all) result.merge(one);
    const valid = all.filter((one) => one.errors.length === 0).length;
    if (valid === all.length) return;
    result.add(whole(path, `must validate all the schemas (allOf)${valid === 0 ? '. None validated' : ''}`));
  }

  #checkPattern(value: string, pattern: string, path: string): Result {
    if (!this.#budget.spend(value, pattern)) {
      return failure({
        type: 'FieldValueTooLong',
        path,
        value,
        detail: `too much text to be matched with '${pattern}'`,
      });
    }
    if (matchesPattern(value, pattern)) return new Result();
    return failure(invalidFinding(path, value, `${path} in body should match '${pattern}'`));
  }
}

function mergeCounted(result: Result, part: Result): void {
  result.merge(part);
  result.matches++;
}

/** Finds the old value of a list item; only lists with keys identify items. */
function correlateItems(schema: JsonSchema, old: Old): (item: unknown) => Old {
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  if (schema['x-kubernetes-list-type'] !== 'map' || old === undefined || !Array.isArray(old.value))
    return () => undefined;
  const keyOf = (item: unknown) => (isJsonObject(item) ? JSON.stringify(keys.map((key) => item[key] ?? null)) : '');
  const byKey = new Map((old.value as unknown[]).map((item) => [keyOf(item), item]));
  return (item) => {
    const found = byKey.get(keyOf(item));
    return found === undefined ? undefined : { value: found };
  };
}

function fieldBefore(old: Old, name: string, schema: JsonSchema): Old {
  if (old === undefined || !isJsonObject(old.value) || schema['x-kubernetes-map-type'] === 'atomic') return undefined;
  return Object.hasOwn(old.value, name) ? { value: old.value[name] } : undefined;
}
