import { goFormat } from '../patch/go-format.ts';
import type { ListType, ScalarKind, StructType, Type } from '../schema/type-schema.ts';
import { formatElement } from './path-element.ts';
import { isJsonMap, itemElement, KeylessItem, memberType, shapeOf } from './shape.ts';

/**
 * Kubernetes' message about why an object cannot be applied: unknown fields, values of the wrong type, or list items with the same key.
 * Undefined when there is no problem.
 */
export function findMisfits(type: StructType, object: object): string | undefined {
  const misfits: string[] = [];
  checkValue(misfits, '', type, object);
  if (misfits.length <= 1) return misfits[0];
  return ['errors:', ...misfits.map((misfit) => `  ${misfit}`)].join('\n');
}

function checkValue(misfits: string[], path: string, type: Type, value: unknown): void {
  const report = (message: string) => misfits.push(path === '' ? message : `${path}: ${message}`);
  const shape = shapeOf(type, value);
  if (value === null || value === undefined) return;
  switch (shape.kind) {
    case 'scalar': {
      const wrong = scalarMisfit(shape.scalar, value);
      if (wrong !== undefined) report(wrong);
      return;
    }
    case 'any':
      return;
    case 'struct':
    case 'map':
      if (!isJsonMap(value)) {
        report(`expected map, got &{${goFormat(value)}}`);
        return;
      }
      for (const [key, item] of Object.entries(value)) {
        const inner = memberType(shape, key);
        if (inner === undefined) {
          misfits.push(`${path}.${key}: field not declared in schema`);
          return;
        }
        checkValue(misfits, `${path}.${key}`, inner, item);
      }
      return;
    case 'list':
      if (Array.isArray(value)) checkItems(misfits, path, shape, value);
      else report(`expected list, got &{${goFormat(value)}}`);
  }
}

function checkItems(misfits: string[], path: string, type: ListType, items: readonly unknown[]): void {
  const report = (message: string) => misfits.push(path === '' ? message : `${path}: ${message}`);
  const seen = new Set<string>();
  for (const [index, item] of items.entries()) {
    let element = `i:${index}`;
    if (type.listType !== 'atomic') {
      try {
        element = itemElement(type, item);
      } catch (error) {
        if (!(error instanceof KeylessItem)) throw error;
        report(`element ${index}: ${error.message}`);
        return;
      }
      if (seen.has(element)) report(`duplicate entries for key ${formatElement(element)}`);
      seen.add(element);
    }
    checkValue(misfits, path + formatElement(element), type.items, item);
  }
}

function scalarMisfit(scalar: ScalarKind, value: unknown): string | undefined {
  switch (scalar) {
    case 'string':
    case 'bytes':
      return typeof value === 'string'
        ? undefined
        : `expected string, got &value.valueUnstructured{Value:${goSyntax(value)}}`;
    case 'boolean':
      return typeof value === 'boolean' ? undefined : `expected boolean, got &{${goFormat(value)}}`;
    case 'int32':
    case 'int64':
    case 'double':
      if (typeof value === 'number' || typeof value === 'bigint') return undefined;
      return `expected numeric (int or float), got ${goTypeOf(value)}`;
    case 'time':
    case 'microTime':
    case 'quantity':
    case 'intOrString':
      return typeof value === 'object' ? `expected any scalar, got &{${goFormat(value)}}` : undefined;
  }
}

function goTypeOf(value: unknown): string {
  if (Array.isArray(value)) return '[]interface {}';
  switch (typeof value) {
    case 'string':
      return 'string';
    case 'boolean':
      return 'bool';
    default:
      return 'map[string]interface {}';
  }
}

/** Decoded JSON as Go's `%#v` prints it. */
function goSyntax(value: unknown): string {
  if (value === null) return 'interface {}(nil)';
  if (Array.isArray(value)) return `[]interface {}{${value.map(goSyntax).join(', ')}}`;
  if (!isJsonMap(value)) return typeof value === 'string' ? JSON.stringify(value) : goFormat(value);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `map[string]interface {}{${entries.map(([key, item]) => `${JSON.stringify(key)}:${goSyntax(item)}`).join(', ')}}`;
}
