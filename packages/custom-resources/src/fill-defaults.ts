import { cloneJson, setMember } from '@gantry/objects';
import { type JsonSchema, isJsonObject, itemsOf, propertyOf, valuesOf } from '@gantry/apimachinery';

/** Puts the defaults of the schema where nothing is, or a null that may not be. Changes `value`. */
export function fillDefaults(value: unknown, schema: JsonSchema | undefined): void {
  if (schema === undefined) return;
  if (Array.isArray(value)) {
    const items = itemsOf(schema);
    for (const [index, item] of value.entries()) {
      if (isForbiddenNull(item, items)) value[index] = cloneJson(items?.default ?? null);
      fillDefaults(value[index], items);
    }
    return;
  }
  if (!isJsonObject(value)) return;
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    if (property.default === undefined || property.default === null) continue;
    const missing = !Object.hasOwn(value, name) || isForbiddenNull(value[name], property);
    if (missing) setMember(value, name, cloneJson(property.default));
  }
  for (const name of Object.keys(value)) {
    const property = propertyOf(schema, name);
    if (property !== undefined) fillDefaults(value[name], property);
    else {
      const values = valuesOf(schema);
      if (isForbiddenNull(value[name], values)) setMember(value, name, cloneJson(values?.default ?? null));
      fillDefaults(value[name], values);
    }
  }
}

function isForbiddenNull(value: unknown, schema: JsonSchema | undefined): boolean {
  return value === null && schema !== undefined && schema.nullable !== true;
}

/** Takes out nulls that may not be and that no default replaces. Changes `value`. */
export function dropNulls(value: unknown, schema: JsonSchema | undefined): void {
  if (Array.isArray(value)) {
    for (const item of value) dropNulls(item, itemsOf(schema));
  } else if (isJsonObject(value)) {
    for (const name of Object.keys(value)) {
      const inner = propertyOf(schema, name) ?? valuesOf(schema);
      const hasDefault = inner?.default !== undefined && inner.default !== null;
      if (isForbiddenNull(value[name], inner) && !hasDefault) delete value[name];
      else dropNulls(value[name], inner);
    }
  }
}
